/**
 * How statements of payments are planned: once in a connection, because planning them for every call took three quarters of the
 * time, and by index, because a plan that was made while a table was empty stays when it has grown. For the same reason each
 * of them names the keys of the rows that it touches (`key = ANY (keys)`), and never joins a whole table: a plan can be
 * poor then, but no plan reads more than these rows.
 *
 * Without bitmaps: only a plain scan of an index notes which of its entries are dead, and those of rows that live for seconds
 * are many. Without JIT: the price by which the planner avoids a scan would start the compiler.
 */
const settings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
}

/** The settings of a function. */
export const plans = Object.entries(settings)
  .map(([name, value]) => `SET ${name} = ${value}`)
  .join(' ')

/** The settings of a connection, for statements that are not in a function. */
export const planOptions = Object.entries(settings)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ')
