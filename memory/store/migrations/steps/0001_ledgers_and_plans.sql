CREATE TABLE memory_agent (
    agent TEXT NOT NULL,
    episodes BIGINT NOT NULL,
    episode_digest {bytes} NOT NULL,
    retrospectives BIGINT NOT NULL,
    retrospective_digest {bytes} NOT NULL,
    PRIMARY KEY (agent)
);

CREATE TABLE memory_episode (
    agent TEXT NOT NULL,
    number BIGINT NOT NULL,
    id TEXT NOT NULL,
    at BIGINT NOT NULL,
    document TEXT NOT NULL,
    digest {bytes} NOT NULL,
    PRIMARY KEY (agent, number),
    CONSTRAINT memory_episode_id UNIQUE (agent, id)
);

CREATE TABLE memory_retrospective (
    agent TEXT NOT NULL,
    number BIGINT NOT NULL,
    episode BIGINT NOT NULL,
    at BIGINT NOT NULL,
    review TEXT NOT NULL,
    document TEXT NOT NULL,
    digest {bytes} NOT NULL,
    PRIMARY KEY (agent, number)
);
CREATE INDEX memory_retrospective_episode ON memory_retrospective (agent, episode);

CREATE TABLE memory_amendment (
    agent TEXT NOT NULL,
    retrospective BIGINT NOT NULL,
    field TEXT NOT NULL,
    episode BIGINT NOT NULL,
    at BIGINT NOT NULL,
    old TEXT NOT NULL,
    new TEXT NOT NULL,
    review TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (agent, retrospective, field)
);
CREATE INDEX memory_amendment_episode ON memory_amendment (agent, episode);

CREATE TABLE memory_block (
    agent TEXT NOT NULL,
    layout TEXT NOT NULL,
    number BIGINT NOT NULL,
    crc BIGINT NOT NULL,
    data {bytes} NOT NULL,
    PRIMARY KEY (agent, layout, number)
);

CREATE TABLE memory_belief (
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    at BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (agent, id)
);

CREATE TABLE memory_plan (
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (agent, id)
);

CREATE TABLE memory_plan_event (
    agent TEXT NOT NULL,
    "plan" TEXT NOT NULL,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (agent, "plan", number)
);

CREATE TABLE memory_halt (
    agent TEXT NOT NULL,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    halted BOOLEAN NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (agent, number)
);
