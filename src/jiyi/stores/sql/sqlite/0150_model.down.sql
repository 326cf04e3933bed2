DROP TABLE model_call;
DROP TABLE segment;
-- Without lanes every job is in the one queue of its owner, of which only the first has a due time.
DROP INDEX job_queue;
UPDATE job SET due_at = NULL WHERE state = 'waiting';
UPDATE job SET due_at = queued_at WHERE state = 'waiting' AND turn =
    (SELECT min(turn) FROM job AS other WHERE other.owner = job.owner AND other.state <> 'dead');
ALTER TABLE job DROP COLUMN lane;
CREATE INDEX job_queue ON job (owner, turn) WHERE state <> 'dead';
