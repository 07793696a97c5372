ALTER TABLE outbox ADD COLUMN asked_until BIGINT;
