/** The agents' part of the schema. */

/** Version 2: why an agent is suspended; NULL if it is not. */
export const suspensionSchema = `
  ALTER TABLE agents ADD COLUMN suspended TEXT;
`

/**
 * Version 3: authorizations for prices by usage. `upto_payer` is the account that pays, or NULL for a transaction, as all
 * earlier reservations are. With it, `transaction_id` is the lease of the authorization, `first_valid` a round that the
 * network had reached before the authorization was signed, and `asset_amount` the maximum until the outcome is 1, then
 * the charge. The index finds those without an outcome.
 */
export const uptoSchema = `
  ALTER TABLE reservations ADD COLUMN upto_payer TEXT;
  CREATE INDEX reservations_upto ON reservations (agent, network, number)
    WHERE upto_payer IS NOT NULL AND outcome = 0;
`

/**
 * Reservations are clustered by agent and ordered by time, so that the sums of one agent are read in one pass. A
 * reservation has at most one asset besides Algos: the payment and its fee. `outcome` is 0 while it is unknown whether
 * the transaction is in the ledger, 1 if it is, and 2 if it never can be and was returned. The index finds transactions
 * by last valid round first, which grows over time. By id alone, each one would change another page of the index.
 */
export const agentSchema = `
  CREATE TABLE agents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    wallet_id TEXT NOT NULL,
    addresses TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    rules TEXT NOT NULL,
    verifier BLOB NOT NULL CHECK (length(verifier) = 32)
  ) STRICT;

  CREATE TABLE agent_keys (
    agent INTEGER NOT NULL,
    address TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (agent, address)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE networks (
    number INTEGER PRIMARY KEY,
    genesis_hash TEXT NOT NULL UNIQUE
  ) STRICT;

  CREATE TABLE reservations (
    agent INTEGER NOT NULL,
    number INTEGER NOT NULL,
    transaction_id BLOB NOT NULL CHECK (length(transaction_id) = 32),
    at_ms INTEGER NOT NULL,
    network INTEGER NOT NULL,
    first_valid INTEGER NOT NULL,
    last_valid INTEGER NOT NULL,
    payee TEXT,
    micro_algos INTEGER NOT NULL CHECK (micro_algos >= 0),
    asset_id INTEGER NOT NULL,
    asset_amount INTEGER NOT NULL CHECK (asset_amount >= 0),
    outcome INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (agent, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX reservations_by_transaction ON reservations (last_valid, transaction_id);

  CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    highest_ms INTEGER NOT NULL
  ) STRICT;
`
