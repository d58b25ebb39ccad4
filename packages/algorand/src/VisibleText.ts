/**
 * Removes invisible characters from untrusted text: they can reorder the surrounding text, control a terminal, or carry
 * a message that only programs read.
 */

/**
 * Controls, format characters, unassigned ones, lone surrogates, line separators, ignorable characters, and letters and
 * symbols that are blank: the Braille pattern without dots, the null notehead, and the blank hieroglyphs.
 */
const hiddenSet = String.raw`[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{13441}\u{13442}]`
const hidden = new RegExp(hiddenSet, 'gu')

/**
 * One selector for the form of the preceding character. A second one, or one after another character, is hidden text.
 */
const selector = String.raw`(?<=\p{Emoji})[\ufe0e\ufe0f]|(?<=\p{Ideographic})\p{Variation_Selector}|(?<=\p{Script=Mongolian})[\u180b-\u180d\u180f]`
/** Compiled on first use, because older browsers have no lookbehind, and pages do not need it. */
let hiddenOnScreen: RegExp | undefined

/** A character to write in place of a hidden one, or a function that returns it. */
export type Replacement = string | ((character: string) => string)

const asFunction = (replacement: Replacement): ((character: string) => string) =>
  typeof replacement === 'string' ? () => replacement : replacement

/**
 * Replaces every invisible character, including tabs and line breaks. For names, and for text that a language model
 * reads.
 *
 * @example
 * VisibleText.replaceHidden('pay\u200b now') // 'pay\ufffd now'
 */
export function replaceHidden(text: string, replacement: Replacement = '\ufffd'): string {
  return text.replace(hidden, asFunction(replacement))
}

/**
 * Like {@link replaceHidden} for text on a screen: keeps the variation selectors of emoji, ideographs and Mongolian
 * letters.
 *
 * @example
 * VisibleText.replaceHiddenOnScreen('☕\ufe0f\x1b[2J', '?') // '☕\ufe0f?[2J'
 */
export function replaceHiddenOnScreen(text: string, replacement: Replacement = '\ufffd'): string {
  hiddenOnScreen ??= new RegExp(`(?!${selector})${hiddenSet}`, 'gu')
  return text.replace(hiddenOnScreen, asFunction(replacement))
}
