ALTER TABLE service_key DROP COLUMN shared;
