/**
 * Texts of other people without the characters that a reader does not see: they reorder the text around them, control a terminal, or
 * carry a message that only a program reads.
 */

/** Controls, format characters, unassigned ones, lone surrogates, line separators, ignorable characters, blank symbols. */
const hiddenSet = String.raw`[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]`
const hidden = new RegExp(hiddenSet, 'gu')

/** One selector that chooses the form of the character before it. A second one, or one after another character, is hidden text. */
const selector = String.raw`(?<=\p{Emoji})[\ufe0e\ufe0f]|(?<=\p{Ideographic})\p{Variation_Selector}|(?<=\p{Script=Mongolian})[\u180b-\u180d\u180f]`
/** Made when it is first used: older browsers have no lookbehind, and pages do without it. */
let hiddenOnScreen: RegExp | undefined

/** A character to write in place of a hidden one, or a function that returns it. */
export type Replacement = string | ((character: string) => string)

const asFunction = (replacement: Replacement): ((character: string) => string) =>
  typeof replacement === 'string' ? () => replacement : replacement

/**
 * Replaces every character that cannot be seen, tabs and line breaks included: for names, and for texts that a language model reads.
 *
 * @example
 * VisibleText.replaceHidden('pay\u200b now') // 'pay\ufffd now'
 */
export function replaceHidden(text: string, replacement: Replacement = '\ufffd'): string {
  return text.replace(hidden, asFunction(replacement))
}

/**
 * The same for text that people read on a screen: the variation selectors of emoji, ideographs and Mongolian letters stay.
 *
 * @example
 * VisibleText.replaceHiddenOnScreen('☕\ufe0f\x1b[2J', '?') // '☕\ufe0f?[2J'
 */
export function replaceHiddenOnScreen(text: string, replacement: Replacement = '\ufffd'): string {
  hiddenOnScreen ??= new RegExp(`(?!${selector})${hiddenSet}`, 'gu')
  return text.replace(hiddenOnScreen, asFunction(replacement))
}
