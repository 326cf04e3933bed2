-- Upkeep: the tier of a memory (SPEC F2, F3), and when periodic work of a scope is due (SPEC O5).

ALTER TABLE memory ADD COLUMN tier TEXT NOT NULL DEFAULT 'fact';
ALTER TABLE memory ADD COLUMN moved_at INTEGER;                        -- when it last changed its tier
ALTER TABLE memory ADD COLUMN low_activity INTEGER NOT NULL DEFAULT 0;

-- What was replaced by a memory must point elsewhere when that one goes.
CREATE INDEX memory_successor ON memory (owner, successor) WHERE successor IS NOT NULL;

-- A scope with nothing to do has no row.
CREATE TABLE schedule (
    owner  INTEGER NOT NULL REFERENCES owner (number),
    kind   TEXT NOT NULL,                  -- of the job that it becomes
    due_at INTEGER NOT NULL,
    PRIMARY KEY (owner, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX schedule_due ON schedule (due_at, owner, kind);
