/** Overrides properties of an object, and restores the original ones afterwards. */
export class Overlay {
  readonly #target: object
  readonly #properties: PropertyDescriptorMap
  #before: readonly (readonly [string, PropertyDescriptor | undefined])[] | undefined

  constructor(target: object, properties: PropertyDescriptorMap) {
    this.#target = target
    this.#properties = properties
    for (const name in properties) properties[name]!.configurable = true
    this.put()
  }

  put(): void {
    const names = Object.keys(this.#properties)
    this.#before ??= names.map((name) => [name, Object.getOwnPropertyDescriptor(this.#target, name)] as const)
    for (const name of names) {
      Object.defineProperty(this.#target, name, this.#properties[name]!)
    }
  }

  /** Also removes later overrides of the same properties. */
  remove(): void {
    for (const [name, before] of this.#before ?? []) {
      if (before === undefined) Reflect.deleteProperty(this.#target, name)
      else Object.defineProperty(this.#target, name, before)
    }
    this.#before = undefined
  }
}

/** Descriptors for properties that are functions. */
export function functions(byName: { readonly [name: string]: (...args: never[]) => unknown }): PropertyDescriptorMap {
  return Object.fromEntries(Object.entries(byName).map(([name, value]) => [name, { value, writable: true }]))
}

/** The same object with some members replaced. Its methods run on the object itself. */
export function withMembers<T extends object>(target: T, members: { readonly [name: string]: unknown }): T {
  const proxy: T = new Proxy(target, {
    get(object, name) {
      if (typeof name === 'string' && Object.hasOwn(members, name)) return members[name]
      const value: unknown = Reflect.get(object, name, object)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, object, args)
        return result === object ? proxy : result
      }
    },
    set: (object, name, value) => Reflect.set(object, name, value, object),
  })
  return proxy
}
