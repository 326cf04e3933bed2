-- The shared scopes that a service key opens beside those of the users of its tenant (SPEC S6).
ALTER TABLE service_key ADD COLUMN shared TEXT NOT NULL DEFAULT '[]';  -- a JSON list: team:write
