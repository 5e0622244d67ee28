-- The layout 1.0 of a state file, for the tests of migrations.
PRAGMA user_version = 1;
CREATE TABLE IF NOT EXISTS revocation (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session BLOB NOT NULL UNIQUE, until INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS revocation_until ON revocation (until);
CREATE TABLE IF NOT EXISTS nonce (
    session BLOB NOT NULL, nonce TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (session, nonce)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS nonce_until ON nonce (until);
CREATE TABLE IF NOT EXISTS query (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL, format TEXT NOT NULL,
    text TEXT NOT NULL
);
