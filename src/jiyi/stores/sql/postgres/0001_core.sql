-- Core schema in PostgreSQL: what the migrations of SQLite up to 0220 make, in one.
--
-- owner     one scope (tenant, user). Its number is never used again.
-- seq       counts from 1 within an owner and a kind. Every primary key begins with the owner, so one owner's rows are
--           found without touching another's, and a distributed PostgreSQL can shard by it.
-- instants  microseconds since 1970-01-01 UTC.
-- text      compared by its bytes (COLLATE "C"), as SQLite does: every server gives the same order.
--
-- Row-level security is a second lock behind the owner that every statement names: the application role jiyi_app owns
-- nothing, and sees the rows of the owner that its transaction entered (jiyi.owner), or what an operator may
-- (jiyi.operator), which is no text of a memory. Both settings end with the transaction.

CREATE TABLE meta (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

-- What the store knows about itself: secret (hex), text.memory and text.message (the text index in use).
CREATE TABLE store_setting (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE owner (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    usr    text COLLATE "C" NOT NULL,
    UNIQUE (tenant, usr)
);

-- Last number given out (message, memory, plan, summary), message number indexed up to (indexed), and the size of the
-- text index (memory.documents, memory.length, …).
CREATE TABLE counter (
    owner bigint NOT NULL,
    name  text COLLATE "C" NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (owner, name)
) WITH (fillfactor = 70);

-- ------------------------------------------------------------------------------------- messages

CREATE TABLE message (
    owner      bigint NOT NULL,
    seq        integer NOT NULL,
    id         text COLLATE "C" NOT NULL,              -- the caller's own
    session    text COLLATE "C" NOT NULL,
    role       text COLLATE "C" NOT NULL,
    at         bigint NOT NULL,
    utc_offset integer NOT NULL,                       -- seconds east of UTC in which the instant was said
    name       text,
    labels     text,                                   -- JSON object
    forgotten  boolean NOT NULL DEFAULT false,
    altered    boolean NOT NULL DEFAULT false,
    digest     boolean NOT NULL DEFAULT false,         -- what a span of talk was about, in the place of what was said
    text       text NOT NULL,
    PRIMARY KEY (owner, seq)
) PARTITION BY HASH (owner);

CREATE UNIQUE INDEX message_id ON message (owner, id);
CREATE INDEX message_at ON message (owner, at, seq) WHERE NOT forgotten;
CREATE INDEX message_session ON message (owner, session, at, seq) WHERE NOT forgotten;

-- How far sessions were cut into the segments that a model reads, one row each: the open segment begins with this
-- message, or there is none and the next one begins behind it.
CREATE TABLE segment (
    owner   bigint NOT NULL,
    message integer NOT NULL,
    behind  integer NOT NULL,
    PRIMARY KEY (owner, message)
);

-- ------------------------------------------------------------------------------------- memories

CREATE TABLE memory (
    owner        bigint NOT NULL,
    seq          integer NOT NULL,
    status       text COLLATE "C" NOT NULL,
    category     text COLLATE "C" NOT NULL,
    importance   integer NOT NULL,
    source       text COLLATE "C" NOT NULL,
    start        double precision NOT NULL,            -- confidence when affirmed
    affirmed_at  bigint NOT NULL,
    valid_from   bigint NOT NULL,
    valid_to     bigint,
    learnt_at    bigint NOT NULL,
    retired_at   bigint,
    changed_at   bigint,
    successor    integer,                              -- seq of the memory that replaced it
    kept         boolean NOT NULL,
    unasked      boolean NOT NULL,                     -- the user did not want to decide about it
    language     text COLLATE "C" NOT NULL,
    fact         text COLLATE "C" NOT NULL,            -- subject|relation, empty without a triple
    value        text COLLATE "C" NOT NULL,            -- folded object or text, for comparing
    subject      text,                                 -- the triple as it was said, or four NULLs
    relation     text COLLATE "C",
    object       text,
    negated      boolean,
    keywords     text NOT NULL,                        -- JSON array
    doubted      boolean NOT NULL,
    nudge        integer NOT NULL,
    tier         text COLLATE "C" NOT NULL,
    moved_at     bigint,
    low_activity boolean NOT NULL,
    text         text NOT NULL,
    PRIMARY KEY (owner, seq)
) PARTITION BY HASH (owner);

-- A value may be as long as a memory, which is more than an index takes: its beginning leads to it.
CREATE INDEX memory_fact ON memory (owner, left(fact, 64), status) WHERE fact <> '';
CREATE INDEX memory_value ON memory (owner, left(value, 64)) WHERE fact = '';
CREATE INDEX memory_unsettled ON memory (owner, seq)
    WHERE status = 'held' OR (status = 'live' AND (source IN ('inferred', 'verified') OR doubted));
CREATE INDEX memory_relation ON memory (owner, relation, status, affirmed_at) WHERE relation IS NOT NULL;
CREATE INDEX memory_successor ON memory (owner, successor) WHERE successor IS NOT NULL;

CREATE TABLE evidence (
    owner      bigint NOT NULL,
    memory     integer NOT NULL,
    position   integer NOT NULL,
    message    integer NOT NULL,                       -- 0 when it was told outright
    span_start integer NOT NULL,
    span_end   integer NOT NULL,
    at         bigint NOT NULL,
    session    text NOT NULL,
    mode       text NOT NULL,                          -- how it was said, on whose word, and how sure that was
    source     text NOT NULL,
    trust      double precision NOT NULL,
    until      bigint,
    own        boolean NOT NULL,
    PRIMARY KEY (owner, memory, position)
) PARTITION BY HASH (owner);

CREATE INDEX evidence_message ON evidence (owner, message, memory);

-- Narrow and apart: it changes with reading, the memory does not.
CREATE TABLE heat (
    owner  bigint NOT NULL,
    memory integer NOT NULL,
    visits double precision NOT NULL,
    at     bigint NOT NULL,
    PRIMARY KEY (owner, memory)
) PARTITION BY HASH (owner);

-- ------------------------------------------------------------------------------------- summaries

CREATE TABLE summary (
    owner    bigint NOT NULL,
    seq      integer NOT NULL,
    session  text COLLATE "C" NOT NULL,
    block    integer NOT NULL,                         -- 0 the whole session, else the number of the stretch
    first_at bigint NOT NULL,
    last_at  bigint NOT NULL,
    language text NOT NULL,
    made_at  bigint NOT NULL,
    method   text NOT NULL,
    points   text NOT NULL,                            -- JSON array of [kind, text, message, start, end]
    PRIMARY KEY (owner, seq)
) PARTITION BY HASH (owner);

CREATE UNIQUE INDEX summary_span ON summary (owner, session, block);

-- The messages a summary was made from, for forgetting.
CREATE TABLE summary_message (
    owner   bigint NOT NULL,
    summary integer NOT NULL,
    message integer NOT NULL,
    PRIMARY KEY (owner, summary, message)
) PARTITION BY HASH (owner);

CREATE INDEX summary_message_message ON summary_message (owner, message, summary);

-- ------------------------------------------------------------------------------------- text index

-- An inverted index that knows no words: term is a 48-bit hash keyed with the store's secret.
CREATE TABLE posting (
    owner bigint NOT NULL,
    kind  smallint NOT NULL,                           -- 1 memory, 2 message, 3 summary
    term  bigint NOT NULL,
    seq   integer NOT NULL,
    tf    integer NOT NULL,                            -- times the term stands in the text
    len   integer NOT NULL,                            -- terms of the text in all
    PRIMARY KEY (owner, kind, term, seq) INCLUDE (tf, len)
) PARTITION BY HASH (owner);

-- ------------------------------------------------------------------------------------- vectors

-- The vectors of one owner and model.
CREATE TABLE vector_set (
    owner     bigint NOT NULL,
    number    bigint GENERATED ALWAYS AS IDENTITY,
    model     text COLLATE "C" NOT NULL,
    dimension integer NOT NULL,
    upto      integer NOT NULL DEFAULT 0,              -- messages have vectors up to this number
    PRIMARY KEY (owner, number),
    UNIQUE (owner, model)
);

-- One row each; a search reads them side by side, put together by the server.
CREATE TABLE vector (
    owner   bigint NOT NULL,
    vset    bigint NOT NULL,
    kind    smallint NOT NULL,                         -- as in posting
    seq     integer NOT NULL,
    square  bigint NOT NULL,                           -- sum of the squares of the numbers
    numbers bytea NOT NULL,                            -- int8
    PRIMARY KEY (owner, vset, kind, seq)
) PARTITION BY HASH (owner);

-- ------------------------------------------------------------------------------------- ledger

-- The row stays for good; words and pictures lie apart, so that forgetting can delete them (SPEC F6).
CREATE TABLE ledger (
    owner     bigint NOT NULL,
    seq       integer NOT NULL,
    at        bigint NOT NULL,
    verb      text NOT NULL,
    actor     text NOT NULL,
    surface   text NOT NULL,
    undoes    integer,
    forgotten boolean NOT NULL DEFAULT false,
    PRIMARY KEY (owner, seq)
) PARTITION BY HASH (owner);

CREATE TABLE ledger_words (
    owner      bigint NOT NULL,
    plan       integer NOT NULL,
    reason     text NOT NULL,
    judgements text NOT NULL,                          -- JSON array
    PRIMARY KEY (owner, plan)
) PARTITION BY HASH (owner);

CREATE TABLE ledger_change (
    owner    bigint NOT NULL,
    plan     integer NOT NULL,
    position integer NOT NULL,
    memory   integer NOT NULL,                         -- which may be gone
    before   text,                                     -- JSON pictures
    after    text,
    PRIMARY KEY (owner, plan, position)
) PARTITION BY HASH (owner);

CREATE INDEX ledger_change_memory ON ledger_change (owner, memory, plan);

-- Apart from the pictures of memories, and not erased with them: no word of talk is in it.
CREATE TABLE ledger_standing (
    owner  bigint NOT NULL,
    plan   integer NOT NULL,
    before text NOT NULL,                              -- JSON pictures
    after  text NOT NULL,
    PRIMARY KEY (owner, plan)
);

-- What each user decided about their memory as a whole (SPEC C5).
CREATE TABLE standing (
    owner      bigint PRIMARY KEY,
    detail     text,                                   -- minimal, balanced, everything; NULL where the user chose none
    detail_at  bigint,
    paused_at  bigint,                                 -- NULL while not paused
    consent    boolean,                                -- given, or refused or withdrawn
    notice     text,                                   -- which data-use notice that was about
    consent_at bigint
);

-- ------------------------------------------------------------------------------------- forgetting

CREATE TABLE forgetting (
    owner       bigint NOT NULL,
    seq         integer NOT NULL,                      -- number of the receipt
    plan        integer NOT NULL,                      -- number of its ledger row
    at          bigint NOT NULL,
    horizon     bigint NOT NULL,                       -- latest instant of a tombstone of it
    reach       text NOT NULL,
    erased      text NOT NULL,                         -- JSON object: counts by kind
    copies      text NOT NULL,                         -- JSON array of [kind, path, at]
    verified_at bigint,
    returned    integer NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, seq)
);

-- A keyed hash of what was forgotten, and up to when: what is said later is said anew.
CREATE TABLE tombstone (
    owner   bigint NOT NULL,
    mark    text COLLATE "C" NOT NULL,
    digest  bytea NOT NULL,
    length  integer NOT NULL,                          -- folded characters of words and topics, else 0
    at      bigint NOT NULL,
    receipt integer NOT NULL,
    PRIMARY KEY (owner, mark, digest)
);

-- Backups (of the whole database, owner 0) and exports that forgetting cannot reach.
CREATE TABLE copy (
    owner  bigint NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    kind   text NOT NULL,
    path   text NOT NULL,
    at     bigint NOT NULL,
    PRIMARY KEY (owner, number)
);

-- ------------------------------------------------------------------------------------- traces, jobs, model calls

-- What recalls did, for a while (SPEC R10). A log: forgetting drops it, an export leaves it out.
CREATE TABLE trace (
    owner  bigint NOT NULL,
    at     bigint NOT NULL,
    id     text COLLATE "C" NOT NULL,
    fields text NOT NULL,                              -- JSON: the question, its candidates and what became of them
    PRIMARY KEY (owner, at, id)
) PARTITION BY HASH (owner);

CREATE UNIQUE INDEX trace_id ON trace (owner, id);

CREATE SEQUENCE job_turn;

CREATE TABLE job (
    owner     bigint NOT NULL,
    id        bigint GENERATED ALWAYS AS IDENTITY,
    turn      bigint NOT NULL DEFAULT nextval('job_turn'),   -- place in the queue; a revived job takes a new one
    state     text COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'running', 'dead')),
    lane      text COLLATE "C" NOT NULL,               -- 'quick', or 'slow' for what waits for a language model
    -- When it may be claimed: when a running job's lease ends, when a failed one is tried again. Only the first
    -- job of an owner's lane has it, so what waits behind it costs nothing when the next job is looked for.
    due_at    bigint,
    attempt   integer NOT NULL DEFAULT 0,
    queued_at bigint NOT NULL,
    kind      text NOT NULL,
    payload   text NOT NULL,                           -- JSON object, no memory text
    error     text,
    died_at   bigint,
    PRIMARY KEY (owner, id)
);

CREATE INDEX job_queue ON job (owner, lane, turn) WHERE state <> 'dead';
CREATE INDEX job_first ON job (lane, turn) WHERE due_at IS NOT NULL;
CREATE INDEX job_dead ON job (died_at, id) WHERE state = 'dead';
CREATE INDEX job_id ON job (id);

-- When periodic work of a scope is due (SPEC O5). A scope with nothing to do has no row.
CREATE TABLE schedule (
    owner  bigint NOT NULL,
    kind   text COLLATE "C" NOT NULL,                  -- of the job that it becomes
    due_at bigint NOT NULL,
    PRIMARY KEY (owner, kind)
);

CREATE INDEX schedule_due ON schedule (due_at, owner, kind);

-- Calls of a language model. No word of what was asked or said, and nothing but a number of whose it was (0: nobody's).
CREATE TABLE model_call (
    owner      bigint NOT NULL,
    id         bigint GENERATED ALWAYS AS IDENTITY,
    at         bigint NOT NULL,
    job        bigint NOT NULL,
    kind       text NOT NULL,
    model      text NOT NULL,
    tokens_in  bigint NOT NULL,
    tokens_out bigint NOT NULL,
    cost       double precision NOT NULL,
    seconds    double precision NOT NULL,
    outcome    text NOT NULL,                          -- 'ok', or the kind of error
    PRIMARY KEY (owner, id)
);

CREATE INDEX model_call_at ON model_call (at);

-- ------------------------------------------------------------------------------------- partitions, locks

CREATE FUNCTION make_partitions(parent text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR remainder IN 0..15 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
                       parent || '_p' || remainder, parent, remainder);
    END LOOP;
END $$;

SELECT make_partitions(relname) FROM pg_class
WHERE relkind = 'p' AND relnamespace = current_schema()::regnamespace ORDER BY relname;

-- Of one owner: seen after entering the scope.
CREATE FUNCTION entered() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('jiyi.owner', true), '')::bigint;

-- Of all owners, for what an operator may see.
CREATE FUNCTION operating() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(current_setting('jiyi.operator', true) = 'on', false);

CREATE FUNCTION lock_rows(locked regclass, by_owner boolean, by_operator boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', locked);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO jiyi_app', locked);
    -- As subqueries: worked out once a statement, not once a row.
    IF by_owner THEN
        EXECUTE format('CREATE POLICY of_owner ON %s TO jiyi_app USING (owner = (SELECT entered()))', locked);
    END IF;
    IF by_operator THEN
        EXECUTE format('CREATE POLICY of_operator ON %s TO jiyi_app USING ((SELECT operating()))', locked);
    END IF;
END $$;

SELECT lock_rows(name::regclass, true, false)
FROM unnest(ARRAY['counter', 'message', 'segment', 'memory', 'evidence', 'heat', 'summary', 'summary_message', 'posting',
                  'vector_set', 'vector', 'ledger', 'ledger_words', 'ledger_change', 'ledger_standing', 'trace']) AS name;
SELECT lock_rows(name::regclass, true, true)
FROM unnest(ARRAY['standing', 'forgetting', 'tombstone', 'copy', 'job', 'schedule', 'model_call']) AS name;
SELECT lock_rows(name::regclass, false, true) FROM unnest(ARRAY['owner', 'meta', 'store_setting']) AS name;

-- Finds the owner of a scope and enters it for the rest of the transaction. `hold` keeps every other transaction that
-- holds it waiting until this one ends, so that writes of one scope come one after another.
CREATE FUNCTION enter_scope(wanted_tenant text, wanted_user text, hold boolean, make boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    found bigint;
BEGIN
    LOOP
        IF hold THEN
            SELECT number INTO found FROM owner WHERE tenant = wanted_tenant AND usr = wanted_user FOR NO KEY UPDATE;
        ELSE
            SELECT number INTO found FROM owner WHERE tenant = wanted_tenant AND usr = wanted_user;
        END IF;
        EXIT WHEN found IS NOT NULL OR NOT make;
        INSERT INTO owner (tenant, usr) VALUES (wanted_tenant, wanted_user) ON CONFLICT DO NOTHING;
    END LOOP;
    PERFORM set_config('jiyi.owner', coalesce(found::text, ''), true), set_config('jiyi.operator', '', true);
    RETURN found;
END $$;

REVOKE ALL ON FUNCTION enter_scope, make_partitions, lock_rows FROM PUBLIC;
GRANT EXECUTE ON FUNCTION enter_scope TO jiyi_app;
GRANT USAGE ON SEQUENCE job_turn TO jiyi_app;
