DROP INDEX memory_unsettled;
CREATE INDEX memory_unsettled ON memory (owner, key)
    WHERE status = 'held' OR (status = 'live' AND source IN ('inferred', 'verified'));
ALTER TABLE memory DROP COLUMN nudge;
ALTER TABLE memory DROP COLUMN doubted;
