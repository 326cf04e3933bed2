-- What was asked for under a key and is done (SPEC S5), and the keys of services (SPEC S2). Neither holds words of a memory.
CREATE TABLE done_once (
    owner   bigint NOT NULL,
    key     bytea NOT NULL,
    at      bigint NOT NULL,
    request bytea NOT NULL,                            -- a keyed hash of what was asked; empty after a forgetting
    outcome text NOT NULL,                             -- JSON: numbers of plans and messages
    PRIMARY KEY (owner, key)
) PARTITION BY HASH (owner);

CREATE INDEX done_once_at ON done_once (owner, at);

CREATE TABLE service_key (
    id         text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    tenant     text COLLATE "C" NOT NULL,
    roles      text NOT NULL,                          -- a JSON list
    digest     bytea NOT NULL,                         -- SHA-256 of the secret
    made_at    bigint NOT NULL,
    revoked_at bigint
);

SELECT make_partitions('done_once');
SELECT lock_rows('done_once', true, false), lock_rows('service_key', false, true);
