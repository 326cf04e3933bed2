DROP INDEX schedule_due;
DROP TABLE schedule;
DROP INDEX memory_successor;
ALTER TABLE memory DROP COLUMN low_activity;
ALTER TABLE memory DROP COLUMN moved_at;
ALTER TABLE memory DROP COLUMN tier;
