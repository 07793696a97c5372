ALTER TABLE review_documents ADD COLUMN line TEXT;
CREATE TABLE hosts (
    host {name} NOT NULL PRIMARY KEY,
    knocked_at BIGINT NOT NULL,
    version TEXT NOT NULL
);
CREATE INDEX reviews_parked ON reviews (agent) WHERE state = 'parked';
CREATE INDEX outbox_failed ON outbox (review) WHERE state = 'failed'
