/** The documentation site, as `npm run docs:serve` serves it. No host serves it before the first release. */
export const documentationUrl = 'http://127.0.0.1:4040/'
