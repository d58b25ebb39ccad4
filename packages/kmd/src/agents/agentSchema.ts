/** The part of the schema that is the agents'. */

/** The second version: why an agent is suspended; NULL if it is not. */
export const suspensionSchema = `
  ALTER TABLE agents ADD COLUMN suspended TEXT;
`

/**
 * Reservations are kept by agent and in the order of their times, so that the sums of one agent are read in one go. A reservation
 * has at most one asset beside Algos: what the transaction pays, and its fee. `outcome` is 0 while it is not known whether the
 * transaction is in the ledger, 1 if it is, and 2 if it never can be and was given back. Transactions are found by their last
 * valid round first, which grows with time: by their ids alone, each would change another page of the index.
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
