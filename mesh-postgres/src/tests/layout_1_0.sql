-- The layout 1.0 of the schema of the state, for the tests of migrations.
CREATE SCHEMA IF NOT EXISTS mesh;
CREATE TABLE IF NOT EXISTS mesh.revocation (session bytea PRIMARY KEY, until bigint NOT NULL);
CREATE INDEX IF NOT EXISTS revocation_until ON mesh.revocation (until);
CREATE TABLE IF NOT EXISTS mesh.nonce (
    session bytea NOT NULL, nonce text NOT NULL, until bigint NOT NULL, PRIMARY KEY (session, nonce)
);
CREATE INDEX IF NOT EXISTS nonce_until ON mesh.nonce (until);
CREATE TABLE IF NOT EXISTS mesh.query (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bytea NOT NULL UNIQUE, format text NOT NULL,
    text text NOT NULL
);
CREATE TABLE IF NOT EXISTS mesh.attempt (key bytea PRIMARY KEY, step bigint NOT NULL, paid_off bigint NOT NULL);
