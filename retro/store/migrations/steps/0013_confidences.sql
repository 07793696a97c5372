CREATE TABLE confidence_readings (
    agent BIGINT NOT NULL REFERENCES agents (key),
    heuristic {name} NOT NULL,
    read_at BIGINT NOT NULL,
    confidence {float},
    PRIMARY KEY (agent, heuristic, read_at)
);
