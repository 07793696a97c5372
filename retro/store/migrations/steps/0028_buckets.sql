ALTER TABLE agents ADD COLUMN bucket INTEGER NOT NULL DEFAULT -1;

UPDATE agents SET bucket = {bucket};

ALTER TABLE reviews ADD COLUMN bucket INTEGER NOT NULL DEFAULT -1;

UPDATE reviews SET bucket = (SELECT agents.bucket FROM agents WHERE agents.key = reviews.agent);

ALTER TABLE outbox ADD COLUMN bucket INTEGER NOT NULL DEFAULT -1;

UPDATE outbox SET bucket = (SELECT reviews.bucket FROM reviews WHERE reviews.key = outbox.review);

ALTER TABLE enrolments ADD COLUMN bucket INTEGER NOT NULL DEFAULT -1;

UPDATE enrolments SET bucket = (SELECT agents.bucket FROM agents WHERE agents.key = enrolments.agent);

CREATE INDEX agents_of_bucket ON agents (bucket, key);

CREATE INDEX enrolments_of_bucket ON enrolments (bucket, next_at);

CREATE INDEX enrolments_losses_of_bucket ON enrolments (bucket) WHERE losses_from IS NOT NULL;

CREATE INDEX reviews_waiting_of_bucket ON reviews (bucket, due_at) WHERE state = 'waiting';

CREATE INDEX reviews_due_of_bucket ON reviews (bucket, period_end, kind, subject, key) WHERE state = 'due';

CREATE INDEX reviews_late_of_bucket ON reviews (bucket, period_end, kind, subject, key)
    WHERE late <> 0 AND state = 'done';

CREATE INDEX reviews_again_of_bucket ON reviews (bucket, again_at) WHERE again_at IS NOT NULL AND state = 'done';

CREATE INDEX reviews_running_of_bucket ON reviews (bucket) WHERE state = 'running';

CREATE INDEX outbox_of_bucket ON outbox (bucket, channel, digest, period_end, key) WHERE state = 'pending';

CREATE INDEX outbox_sending_of_bucket ON outbox (bucket) WHERE state = 'sending'
