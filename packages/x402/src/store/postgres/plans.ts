/**
 * Settings of functions that run with every payment. Their statements are planned once in a connection: planning them for
 * every call took three quarters of the time. And always by index: a plan that was made while a table was empty stays.
 */
export const plans = 'SET plan_cache_mode = force_generic_plan SET enable_seqscan = off'
