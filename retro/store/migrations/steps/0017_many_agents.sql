ALTER TABLE agents ADD COLUMN watched INTEGER NOT NULL DEFAULT 0;

UPDATE agents SET watched = 1 WHERE key IN (SELECT agent FROM enrolments);

CREATE INDEX agents_unwatched ON agents (key) WHERE watched = 0;

CREATE INDEX agents_last ON agents (last_at);

CREATE INDEX enrolments_next ON enrolments (next_at);

CREATE INDEX enrolments_unlooked ON enrolments (agent) WHERE next_at IS NULL;

CREATE INDEX enrolments_losses ON enrolments (agent) WHERE losses_from IS NOT NULL;

ALTER TABLE mark_series ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

CREATE TABLE mark_tellings (
    series BIGINT NOT NULL REFERENCES mark_series (key),
    version BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (series, version)
);

CREATE TABLE book_marks (
    agent BIGINT NOT NULL REFERENCES agents (key),
    instrument {name} NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (agent, instrument)
);
CREATE INDEX book_marks_version ON book_marks (instrument, version, agent);

UPDATE book SET settings = '', dirty_from = COALESCE(dirty_from, 0);

CREATE INDEX book_dirty ON book (agent) WHERE dirty_from IS NOT NULL;

CREATE INDEX faults_of_agent ON faults (agent);

CREATE INDEX faults_of_source ON faults (source, agent);

CREATE INDEX faults_order ON faults (seq);

CREATE INDEX source_agents_source ON source_agents (source);

DROP INDEX reviews_open;

DROP INDEX reviews_late;

DROP INDEX reviews_again;

CREATE INDEX reviews_waiting ON reviews (due_at) WHERE state = 'waiting';

CREATE INDEX reviews_due ON reviews (period_end, kind, subject, key) WHERE state = 'due';

CREATE INDEX reviews_delayed ON reviews (not_before) WHERE state = 'due';

CREATE INDEX reviews_running ON reviews (leased_until) WHERE state = 'running';

CREATE INDEX reviews_late ON reviews (period_end, kind, subject, key) WHERE late <> 0 AND state = 'done';

CREATE INDEX reviews_again ON reviews (again_at) WHERE again_at IS NOT NULL AND state = 'done';

CREATE INDEX reviews_at_work ON reviews (agent) WHERE state IN ('due', 'running');

ALTER TABLE outbox ADD COLUMN agent BIGINT REFERENCES agents (key);

ALTER TABLE outbox ADD COLUMN period_end BIGINT;

UPDATE outbox SET
    agent = (SELECT reviews.agent FROM reviews WHERE reviews.key = outbox.review),
    period_end = (SELECT reviews.period_end FROM reviews WHERE reviews.key = outbox.review);

DROP INDEX outbox_open;

CREATE INDEX outbox_delayed ON outbox (not_before) WHERE state = 'pending';

CREATE INDEX outbox_ripe ON outbox (channel, digest, period_end, key) WHERE state = 'pending';

CREATE INDEX outbox_recipients ON outbox (channel, recipient) WHERE state = 'pending';

CREATE INDEX outbox_gathered ON outbox (agent) WHERE state = 'pending' AND digest = 1;

CREATE INDEX outbox_sending ON outbox (leased_until) WHERE state = 'sending';

CREATE INDEX pull_requests_state ON pull_requests (state);
