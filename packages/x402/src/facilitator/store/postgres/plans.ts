/**
 * The planner settings for payment statements. Statements are planned once per connection, because planning them for
 * every call took three quarters of the time. Plans use indexes, because a plan made while a table was empty stays when
 * it has grown. For the same reason each statement names the keys of its rows (`key = ANY (keys)`) and never joins a
 * whole table. A plan may then be poor, but no plan reads more than these rows.
 *
 * Without bitmaps, because only a plain index scan marks dead entries, and rows that live for seconds leave many.
 * Without JIT, because the cost with which the planner avoids a scan would start the compiler.
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
