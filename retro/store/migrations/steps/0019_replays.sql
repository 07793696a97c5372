CREATE TABLE position_replays (
    seq {key},
    agent BIGINT NOT NULL REFERENCES agents (key),
    position {name} NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX position_replays_of ON position_replays (agent, position);
