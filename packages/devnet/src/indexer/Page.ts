/**
 * A page of results as JSON, limited in number and size. A client asks for the rest with the token of the next page.
 */
import type { RawResponse } from '@latchkey/http'
import type { SortedList } from '../ledger/SortedList.js'
import * as HttpResponse from '../rest/HttpResponse.js'
import { toJson, type Value } from '../rest/HttpResponse.js'
import type { Slice } from './Turns.js'

const maxLetters = 16 * 1024 * 1024

export class Page {
  readonly #limit: number
  #texts: string[] = []
  #letters = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get isEmpty(): boolean {
    return this.#texts.length === 0
  }

  /** Returns whether there is room for more. */
  add(value: Value): boolean {
    const text = toJson(value).trimEnd()
    this.#texts.push(text)
    this.#letters += text.length
    return this.#texts.length < this.#limit && this.#letters < maxLetters
  }

  clear(): void {
    this.#texts = []
    this.#letters = 0
  }

  /** Returns the results under their name, together with the other members. */
  toResponse(name: string, others: { readonly [name: string]: Value | undefined }): RawResponse {
    const start = toJson(others).trimEnd().slice(0, -1)
    return HttpResponse.jsonText(`${start},${JSON.stringify(name)}:[${this.#texts.join(',')}]}\n`)
  }
}

/** Calls `take` with the values after this one, in order, until it returns false. */
export async function scan<T extends string | bigint>(
  list: SortedList<T> | undefined,
  after: T | undefined,
  slice: Slice,
  take: (value: T) => boolean,
): Promise<void> {
  if (list === undefined) return
  let index = list.indexAfter(after)
  for (let value = list.at(index); value !== undefined; value = list.at(index)) {
    if (!take(value)) return
    index++
    const pause = slice.pause()
    if (pause === undefined) continue
    await pause
    // The list may have changed in the meantime.
    index = list.indexAfter(value)
  }
}
