CREATE TABLE rework_agents (
    agent BIGINT NOT NULL PRIMARY KEY REFERENCES agents (key),
    unit BIGINT NOT NULL,
    since BIGINT NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX rework_agents_of_unit ON rework_agents (unit, agent)
