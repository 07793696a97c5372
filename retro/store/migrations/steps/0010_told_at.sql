ALTER TABLE events ADD COLUMN told_at BIGINT;

ALTER TABLE corrections ADD COLUMN told_at BIGINT;

CREATE INDEX corrections_told ON corrections (agent, type, id) WHERE told_at IS NOT NULL;
