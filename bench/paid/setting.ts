/** The published packages support only public networks, so the devnet uses the id of TestNet. */
export const network = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
export const dollar = '10458941'
export const priceMicroDollars = 1_000
