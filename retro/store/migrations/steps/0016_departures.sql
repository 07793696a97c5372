CREATE TABLE departures (
    digest {name} NOT NULL PRIMARY KEY,
    reason TEXT NOT NULL,
    at BIGINT NOT NULL,
    name {name},
    agent BIGINT REFERENCES agents (key)
);

CREATE TABLE errands (
    key {key},
    kind TEXT NOT NULL,
    agent {name} NOT NULL,
    successor {name}
);

ALTER TABLE review_documents ADD COLUMN purged_at BIGINT;
