ALTER TABLE message DROP COLUMN digest;
DROP TABLE ledger_standing;
DROP TABLE standing;
