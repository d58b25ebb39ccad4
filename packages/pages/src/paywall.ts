/** The page that a browser meets on a paid route. */
export {}
