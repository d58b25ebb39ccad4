// Loaded before node:test, to make it cheaper. node:test finds the test that a callback belongs to with an async hook
// that is told when each promise is destroyed, so the garbage collector has to track every promise. A loop of promises
// takes three times as long. This hook keeps the test on the promise itself, as AsyncLocalStorage does.
'use strict'

const hooks = require('node:async_hooks')

const { createHook, executionAsyncId, executionAsyncResource } = hooks
const owner = Symbol('the id of the test that a resource belongs to')

/** Releases whose node:test tracks tests as expected here. Others run as they are. */
const isKnown = /^v20\./.test(process.version)

if (isKnown) {
  hooks.createHook = (callbacks) => {
    if (callbacks.destroy === undefined || !isOfTestRunner(new Error().stack)) return createHook(callbacks)
    hooks.createHook = createHook
    return createHook({ init: (...event) => track(callbacks, ...event) })
  }
  // node:test looks up the test by this id.
  hooks.executionAsyncId = () => executionAsyncResource()[owner] ?? executionAsyncId()
}

function track({ init }, asyncId, type, triggerAsyncId, resource) {
  const id = type === 'Test' ? asyncId : executionAsyncResource()[owner]
  if (id !== undefined) resource[owner] = id
  if (type === 'Test') init(asyncId, type, triggerAsyncId, resource)
}

const isOfTestRunner = (stack) => stack.includes('node:internal/test_runner/')
