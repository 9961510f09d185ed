"""Schema migrations: an ordered list of steps, forwards only; a released step never changes.

Longer than 400 lines: steps are added at its end, and none is ever changed.

While replicas are replaced one after the other, some of the release before work on the database
that the new one has migrated, and start anew on it. So a step only adds: tables, columns that may
be left out, indexes. What takes something away waits until no supported release needs it, and is
named in `BREAKING`.
"""

import psycopg
import structlog
from psycopg.rows import TupleRow

from bot.store.budget_function import BUDGET_WINDOWS
from bot.store.values import StoreError

log = structlog.get_logger()

_MIGRATION_LOCK = 0x706F726368  # "porch": replicas that start at once take turns

WORK = """
-- What hints two wakes bring is put together: name by name, every value once.
CREATE FUNCTION hint_union(one jsonb, other jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN other = '{}' OR one @> other THEN one
    WHEN one = '{}' THEN other
    ELSE (
      SELECT jsonb_object_agg(name, list) FROM (
        SELECT name, jsonb_agg(DISTINCT value) AS list FROM (
          SELECT key AS name, jsonb_array_elements(value) AS value FROM jsonb_each(one)
          UNION ALL
          SELECT key, jsonb_array_elements(value) FROM jsonb_each(other)
        ) AS both_of_them GROUP BY name
      ) AS lists
    )
  END
$$;

-- What a look has dealt with goes; what came meanwhile stays.
CREATE FUNCTION hint_minus(one jsonb, other jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN one = other THEN '{}'
    ELSE (
      SELECT coalesce(jsonb_object_agg(name, list), '{}') FROM (
        SELECT key AS name, jsonb_agg(element) AS list
        FROM jsonb_each(one), jsonb_array_elements(value) AS element
        WHERE NOT coalesce(other -> key @> jsonb_build_array(element), false)
        GROUP BY key
      ) AS lists
    )
  END
$$;

CREATE TABLE work (
  key        text PRIMARY KEY,
  wanted     bigint NOT NULL DEFAULT 1,            -- raised by each wake
  seen       bigint NOT NULL DEFAULT 0,            -- the wanted that the last look began with
  due        timestamptz NOT NULL DEFAULT now(),   -- not before; infinity while nothing is wanted
  held       timestamptz,                          -- not before, whatever wakes it (Retry-After)
  lease      timestamptz,                          -- until when a worker has it
  owner      text,                                 -- which take of which worker
  tries      int NOT NULL DEFAULT 0,               -- looks in a row that failed
  priority   int NOT NULL DEFAULT 0,               -- higher first
  hint       jsonb NOT NULL DEFAULT '{}',          -- what the events said exists
  last_error text
) WITH (fillfactor = 50);                          -- room for updates in place

-- Without `due`: its changes would then cost an index entry each.
CREATE INDEX work_wanted ON work (priority DESC) WHERE wanted > seen;
"""

TABLES = """
CREATE TABLE delivery (
  forge    text NOT NULL,
  guid     text NOT NULL,
  received timestamptz NOT NULL DEFAULT now(),
  times    int NOT NULL DEFAULT 1,                 -- how often it came
  event    text NOT NULL,
  action   text NOT NULL,
  headers  jsonb NOT NULL,                         -- an allow-list only
  body     bytea NOT NULL,                         -- as received and verified
  PRIMARY KEY (forge, guid)
);
CREATE INDEX delivery_received ON delivery (received);

CREATE TABLE adoption (
  repository   bigint PRIMARY KEY,                 -- the forge's number
  full_name    text NOT NULL,
  installation bigint NOT NULL,
  adopted      timestamptz NOT NULL,
  installed    timestamptz NOT NULL,
  drafts       jsonb NOT NULL                      -- draft branch to commit, as first seen
);

-- Proposals that wait for their base branch to publish them, in the order in which they asked.
CREATE TABLE candidate (
  repository bigint NOT NULL,
  base       text NOT NULL,
  proposal   bigint NOT NULL,
  place      bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (repository, base, proposal)
);

-- Revisions that were published: a number stays used when somebody deletes its tag.
CREATE TABLE revision (
  repository bigint NOT NULL,
  package    text NOT NULL,
  number     bigint NOT NULL,
  target     text NOT NULL,                        -- the commit that was tagged
  PRIMARY KEY (repository, package, number)
);

-- Closed proposals that want nothing any more.
CREATE TABLE settled (
  repository bigint NOT NULL,
  proposal   bigint NOT NULL,
  PRIMARY KEY (repository, proposal)
);

-- Merges that the forge refused for a reason that only a changed input can mend.
CREATE TABLE refusal (
  repository bigint NOT NULL,
  proposal   bigint NOT NULL,
  head       text NOT NULL,
  base       text NOT NULL,
  reason     text NOT NULL,
  PRIMARY KEY (repository, proposal)
);

CREATE TABLE audit (
  id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at     timestamptz NOT NULL DEFAULT now(),
  key    text NOT NULL,
  actor  text NOT NULL,
  action text NOT NULL,
  detail jsonb NOT NULL
);
CREATE INDEX audit_key ON audit (key, id);

CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit: entries are only ever added';
END
$$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
  FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
"""

REFUSAL = """
-- Digest of what others had reported at the head before the merge was refused: it is tried again
-- when that changes. One from before this column is tried once more.
ALTER TABLE refusal ADD COLUMN ended text NOT NULL DEFAULT '';
"""

OPEN = """
-- Open proposals as they were last looked at: which of them share a commit, and so its checks.
CREATE TABLE open_proposal (
  repository      bigint NOT NULL,
  proposal        bigint NOT NULL,
  head_repository bigint NOT NULL,                 -- 0 once the fork is gone
  branch          text NOT NULL,
  sha             text NOT NULL,
  PRIMARY KEY (repository, proposal)
);
CREATE INDEX open_proposal_sha ON open_proposal (repository, sha);
CREATE INDEX open_proposal_head ON open_proposal (repository, head_repository, branch);
"""

BASES_AND_TAGS = """
-- Tips that base branches had when we looked, for merges that the forge did not log.
CREATE TABLE tip (
  repository bigint NOT NULL,
  base       text NOT NULL,
  sha        text NOT NULL,
  seen       timestamptz NOT NULL,                 -- last time that it was new
  PRIMARY KEY (repository, base, sha)
);

ALTER TABLE revision
  ADD COLUMN tag      text NOT NULL DEFAULT '',    -- the tag object; empty when not known
  ADD COLUMN proposal bigint,                      -- the pull request
  ADD COLUMN shown    text NOT NULL DEFAULT '';    -- the object that the tag was last seen to name

ALTER TABLE adoption ADD COLUMN tags jsonb;        -- release tags that were there; NULL: not known
"""

GONE = """
-- When a repository was found to be out of our reach; it is served again when discovery finds it.
ALTER TABLE adoption ADD COLUMN gone timestamptz;
"""

PUSH_REFUSAL = """
-- Pushes of ours to a branch that a rule of the forge forbade.
CREATE TABLE push_refusal (
  repository bigint NOT NULL,
  ref        text NOT NULL,
  sha        text NOT NULL,                        -- where the branch was
  asked      bigint NOT NULL,                      -- the comment that had asked for it; 0 for none
  reason     text NOT NULL,
  PRIMARY KEY (repository, ref)
);
"""

MEMORY = """
-- What was decided about proposals: events, only ever added (lifecycle/events.py).
CREATE TABLE event (
  repository bigint NOT NULL,
  proposal   bigint NOT NULL,
  digest     text NOT NULL,                        -- of the event: the same one is kept once
  event      jsonb NOT NULL,
  at         timestamptz NOT NULL DEFAULT now(),   -- when it was written down here
  PRIMARY KEY (repository, proposal, digest)
);

-- The comments that the bot wrote, so that it sees when one is missing and can write it anew.
CREATE TABLE written (
  repository bigint NOT NULL,
  proposal   bigint NOT NULL,
  comment    bigint NOT NULL,                      -- the forge's number
  body       text NOT NULL,                        -- "" for the summary
  record     jsonb NOT NULL,
  PRIMARY KEY (repository, proposal, comment)
);

-- A proposal that was closed wants nothing; once it is merged after all, it does.
ALTER TABLE settled ADD COLUMN merged boolean NOT NULL DEFAULT false;
"""

TOUCHING = """
-- Packages that open proposals change, so that each can name the others.
CREATE TABLE touching (
  repository bigint NOT NULL,
  proposal   bigint NOT NULL,
  base       text NOT NULL,                        -- the branch that it is proposed to
  package    text NOT NULL,
  PRIMARY KEY (repository, proposal, base, package)
);
CREATE INDEX touching_package ON touching (repository, base, package);
"""

DELIVERY_OF = """
-- What came before a repository was adopted is read again then.
ALTER TABLE delivery ADD COLUMN repository bigint;
CREATE INDEX delivery_repository ON delivery (repository, received);
"""

NUMBERS = """
-- The baseline by numbers, which need no clock; NULL: adopted before, by the time alone.
ALTER TABLE adoption
  ADD COLUMN highest bigint,                       -- number of the newest proposal
  ADD COLUMN open    jsonb NOT NULL DEFAULT '[]';  -- numbers of those that were open
"""

SETTLED_UNTIL = """
-- Merged proposals that changed last before this moment are settled; nothing is decided by it.
CREATE TABLE settled_until (
  repository bigint NOT NULL,
  base       text NOT NULL,
  until      timestamptz NOT NULL,
  PRIMARY KEY (repository, base)
);
"""

HEADS = """
-- Where the branches were that packages are published from; empty: adopted before.
ALTER TABLE adoption ADD COLUMN heads jsonb NOT NULL DEFAULT '{}';
"""

IDENTITY = """
-- What the other tables have in their column `repository`: the forge's own number for a repository
-- of GitHub, as ever, and for any other the `id` here, which is below zero. So replicas of an older
-- version go on with the tables as they know them.
CREATE TABLE repository (
  id     bigint GENERATED ALWAYS AS IDENTITY (START -1 INCREMENT -1) PRIMARY KEY,
  forge  text NOT NULL CHECK (forge <> 'github'),
  number bigint NOT NULL,
  UNIQUE (forge, number)
);

-- The repositories that are or were served, by forge and number.
CREATE VIEW served AS
  SELECT a.repository, coalesce(r.forge, 'github') AS forge,
    coalesce(r.number, a.repository) AS number
  FROM adoption a LEFT JOIN repository r ON r.id = a.repository;
"""

SWEPT = """
-- What a sweep saw of each head branch when it last had it looked at; lost, all are looked at.
CREATE TABLE swept (
  repository bigint NOT NULL,
  key        text NOT NULL,                        -- as in work
  state      text NOT NULL,                        -- digest
  at         timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (repository, key)
);
"""

AUDIT_PRUNED = """
-- Entries older than 400 days may be deleted; younger ones stay whatever is asked for.
CREATE INDEX audit_at ON audit USING brin (at);
DROP TRIGGER audit_append_only ON audit;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR TRUNCATE ON audit
  FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
CREATE TRIGGER audit_recent BEFORE DELETE ON audit
  FOR EACH ROW WHEN (OLD.at >= now() - interval '400 days')
  EXECUTE FUNCTION audit_is_append_only();
"""

CLAIMS = """
-- What a look is about to make at the forge, where nothing else prevents that another makes it too.
CREATE TABLE claim (
  repository bigint NOT NULL,
  place      text NOT NULL,
  at         timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (repository, place)
);
"""

SWEEP_MARKS = """
-- From where a sweep of the App as a whole goes on; lost, it begins anew.
CREATE TABLE sweep_mark (
  forge text NOT NULL,
  sweep text NOT NULL,
  mark  jsonb NOT NULL,
  PRIMARY KEY (forge, sweep)
);
"""

HEARD = """
-- When the first webhook came that the next look answers, and when a look last came to rest.
ALTER TABLE work ADD COLUMN heard timestamptz, ADD COLUMN rested timestamptz;
"""

WAITS = """
-- What proposals wait for, and since when: for people who ask; nothing is decided by it.
CREATE TABLE wait (
  repository bigint NOT NULL,
  proposal   bigint NOT NULL,
  gate       text NOT NULL,
  since      timestamptz NOT NULL DEFAULT now(),
  key        text NOT NULL,                        -- of its head branch, as in work
  merged     boolean NOT NULL,
  reason     text NOT NULL,                        -- what it is counted by, one of few
  actual     text NOT NULL,
  wanted     text NOT NULL,
  who        text NOT NULL,
  PRIMARY KEY (repository, proposal, gate)
);
CREATE INDEX wait_key ON wait (repository, key);

-- The processes of the bot, as they tell of themselves every few seconds.
CREATE TABLE replica (
  name    text PRIMARY KEY,
  host    text NOT NULL,
  parts   text NOT NULL,                           -- web, work
  version text NOT NULL,
  started timestamptz NOT NULL DEFAULT now(),
  seen    timestamptz NOT NULL DEFAULT now()
);
"""

RENDERINGS = """
-- Verdicts on packages that any replica made (bot.render.stored); lost, they are made again.
CREATE TABLE rendering (
  key  text PRIMARY KEY,                           -- digest of what the verdict follows from
  data bytea NOT NULL,
  used timestamptz NOT NULL DEFAULT now()          -- to the hour
);
CREATE INDEX rendering_used ON rendering (used);
"""

MERGE_WAITS = """
-- Failures to merge by what ends them; `again` NULL: only another input. Rows leave `ended` empty,
-- so that a replica of before these columns asks the forge once more instead of waiting for ever.
ALTER TABLE refusal
  ADD COLUMN inputs   text NOT NULL DEFAULT '',    -- digest; empty where only time counts
  ADD COLUMN obstacle text NOT NULL DEFAULT 'rule',
  ADD COLUMN failure  text NOT NULL DEFAULT 'policy',
  ADD COLUMN tries    int NOT NULL DEFAULT 1,      -- with the same inputs, and failed alike
  ADD COLUMN again    timestamptz;
"""

WATCHED = """
-- What sweeps saw of each repository; lost, all of them are swept.
CREATE TABLE watched (
  repository bigint PRIMARY KEY,
  listed     text NOT NULL DEFAULT '',             -- as the list of repositories showed it last
  shown      text NOT NULL DEFAULT '',             -- its newest change of a proposal
  validator  text NOT NULL DEFAULT '',             -- by which the forge says that this still holds
  quiet      int NOT NULL DEFAULT 0,               -- how often in a row nothing had changed
  asked      timestamptz NOT NULL DEFAULT '-infinity', -- when the forge was asked for `shown`
  swept      timestamptz,                          -- when a sweep of it ended last
  version    text NOT NULL DEFAULT '',             -- of the bot that swept it
  waits      boolean NOT NULL DEFAULT false        -- what no list tells may let one through
);
"""

BUDGETS = """
-- What all replicas may still ask of the forge, an account a row; lost, the forge's next answer
-- tells again.
CREATE TABLE budget (
  account text PRIMARY KEY,
  levels  jsonb NOT NULL DEFAULT '{}',             -- bucket to tokens, size, at, ends (epochs)
  paused  timestamptz                              -- until when the forge wants nothing asked
);

-- Takes all tokens or none; gives 0, or the seconds until all may be there (bot/store/buckets.py).
CREATE FUNCTION budget_take(
  named text, draws jsonb, told jsonb, slack float8, untold float8, same float8
) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  kept jsonb; until timestamptz; t float8; wait float8; short float8;
  d jsonb; l jsonb; tokens float8; size float8; ends float8;
BEGIN
  SELECT levels, paused INTO kept, until FROM budget WHERE account = named FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO budget (account) VALUES (named) ON CONFLICT DO NOTHING;
    SELECT levels, paused INTO kept, until FROM budget WHERE account = named FOR UPDATE;
  END IF;
  t := extract(epoch FROM clock_timestamp());
  wait := GREATEST(0, coalesce(extract(epoch FROM until), 0) - t);
  FOR d IN SELECT jsonb_array_elements(told) LOOP
    l := kept -> (d ->> 'bucket');
    ends := t + (d ->> 'ends')::float8;
    tokens := (d ->> 'left')::float8;
    IF l ->> 'ends' IS NOT NULL AND ends <= (l ->> 'ends')::float8 + same THEN
      CONTINUE WHEN ends < (l ->> 'ends')::float8 - same;
      ends := (l ->> 'ends')::float8;
      tokens := GREATEST(LEAST((l ->> 'tokens')::float8, tokens), tokens - slack);
    END IF;
    kept := kept || jsonb_build_object(d ->> 'bucket', jsonb_build_object(
      'tokens', tokens, 'size', d -> 'limit', 'at', t, 'ends', ends));
  END LOOP;
  FOR d IN SELECT jsonb_array_elements(draws) LOOP
    l := kept -> (d ->> 'bucket');
    tokens := coalesce((l ->> 'tokens')::float8, (d ->> 'size')::float8);
    size := coalesce((l ->> 'size')::float8, (d ->> 'size')::float8);
    ends := (l ->> 'ends')::float8;
    IF (d ->> 'rate')::float8 > 0 THEN
      size := (d ->> 'size')::float8;
      tokens := LEAST(size, tokens
        + (d ->> 'rate')::float8 * (t - coalesce((l ->> 'at')::float8, t)));
    ELSIF ends <= t THEN
      tokens := size;
      ends := NULL;
    END IF;
    short := (d ->> 'tokens')::float8 + (d ->> 'keep')::float8 * size - tokens;
    IF short > 0 THEN
      wait := GREATEST(wait, CASE
        WHEN (d ->> 'rate')::float8 > 0 THEN short / (d ->> 'rate')::float8
        WHEN ends IS NULL THEN untold
        ELSE GREATEST(1, ends - t) END);
    END IF;
    kept := kept || jsonb_build_object(d ->> 'bucket', jsonb_build_object(
      'tokens', tokens, 'size', size, 'at', t, 'ends', ends));
  END LOOP;
  IF wait = 0 THEN
    FOR d IN SELECT jsonb_array_elements(draws) LOOP
      kept := jsonb_set(kept, ARRAY[d ->> 'bucket', 'tokens'], to_jsonb(
        (kept -> (d ->> 'bucket') ->> 'tokens')::float8 - (d ->> 'tokens')::float8));
    END LOOP;
  END IF;
  UPDATE budget SET levels = kept WHERE account = named;
  RETURN wait;
END
$$;
"""

FAILING = """
-- When the first of the looks in a row failed that `tries` counts.
ALTER TABLE work ADD COLUMN failing timestamptz;
"""

DASHBOARDS = """
-- Number of the repository's dashboard issue; unknown until it is found again, or made.
ALTER TABLE adoption ADD COLUMN dashboard bigint;
"""

FORGE_ADDRESSES = """
-- Where each forge is that the settings name: a name stays with its instance.
CREATE TABLE forge_address (forge text PRIMARY KEY, address text NOT NULL UNIQUE);
"""

UPSTREAM_USES = """
-- Up to which commit of a branch its Kptfiles were read.
CREATE TABLE indexed (
  repository bigint NOT NULL,
  branch     text NOT NULL,
  commit     text NOT NULL,
  PRIMARY KEY (repository, branch)
);

-- What the Kptfiles of that commit say of their upstreams.
CREATE TABLE upstream_use (
  repository bigint NOT NULL,
  branch     text NOT NULL,
  package    text NOT NULL,
  place      text NOT NULL,                        -- host and path, as locations are spelled
  directory  text NOT NULL,
  ref        text NOT NULL,
  commit     text NOT NULL,                        -- "" in `upstream`
  locked     boolean NOT NULL
);
CREATE INDEX upstream_use_by_user ON upstream_use (repository, branch, package);
CREATE INDEX upstream_use_by_place ON upstream_use (place, directory);
"""

VARIANT_WAITS = """
-- What variants wait for: for people, never to decide by.
CREATE TABLE variant_wait (
  repository bigint NOT NULL,
  package    text NOT NULL,                        -- "" for the rules themselves
  variant    text NOT NULL,
  file       text NOT NULL,
  state      text NOT NULL,
  why        text NOT NULL,
  since      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (repository, package, variant, file)
);
"""

LET_IN = """
-- Which repository a name meant that another one listed, when it was first let in.
CREATE TABLE let_in (
  giver bigint NOT NULL,
  name  text NOT NULL,                             -- in small letters
  other bigint NOT NULL,
  PRIMARY KEY (giver, name)
);
"""

CLAIM_HOLDERS = """
-- For whom a claim stands that one alone may have, and asks for again; others are anybody's.
ALTER TABLE claim ADD COLUMN holder text NOT NULL DEFAULT '';
"""

OBSERVING = """
-- Whether processes of the bot only observe in all repositories, and when they last stopped to.
CREATE TABLE observing (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  observes boolean NOT NULL,
  ended    timestamptz
);
"""

STEPS: tuple[str, ...] = (
    WORK,
    TABLES,
    REFUSAL,
    OPEN,
    BASES_AND_TAGS,
    GONE,
    PUSH_REFUSAL,
    MEMORY,
    TOUCHING,
    DELIVERY_OF,
    NUMBERS,
    HEADS,
    SETTLED_UNTIL,
    IDENTITY,
    SWEPT,
    AUDIT_PRUNED,
    CLAIMS,
    SWEEP_MARKS,
    HEARD,
    WAITS,
    RENDERINGS,
    MERGE_WAITS,
    WATCHED,
    BUDGETS,
    FAILING,
    BUDGET_WINDOWS,
    DASHBOARDS,
    FORGE_ADDRESSES,
    UPSTREAM_USES,
    VARIANT_WAITS,
    LET_IN,
    CLAIM_HOLDERS,
    OBSERVING,
)
"""Applied in order, each once; the database remembers how many."""

BREAKING: frozenset[int] = frozenset()
"""Numbers, from 1, of the steps on whose database a bot that does not know them cannot work."""


async def migrate(url: str) -> int:
    """Bring the tables up to date; replicas that start at once take turns.

    Returns:
        How many steps were new.

    Raises:
        StoreError: The database cannot be reached, or a newer version of the bot made of it what
            this one cannot work with.
    """
    try:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            return await _migrate(connection)
    except psycopg.OperationalError as error:
        raise unreachable(error) from error


async def _migrate(connection: psycopg.AsyncConnection[TupleRow]) -> int:
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MIGRATION_LOCK])
    await connection.execute("CREATE TABLE IF NOT EXISTS migration (step int PRIMARY KEY)")
    await connection.execute(
        "ALTER TABLE migration ADD COLUMN IF NOT EXISTS breaks boolean NOT NULL DEFAULT false"
    )
    cursor = await connection.execute(
        "SELECT count(*), count(*) FILTER (WHERE breaks AND step > %s) FROM migration", [len(STEPS)]
    )
    done, broken = map(int, await cursor.fetchone() or (0, 0))
    if broken:
        raise StoreError(
            f"The database has had {done} migrations and this bot knows {len(STEPS)}: a newer "
            "version changed what this one needs. Run that version, or another database."
        )
    if done > len(STEPS):
        log.info("the database is of a newer version", migrations=done, known=len(STEPS))
    for number, step in enumerate(STEPS[done:], start=done + 1):
        await connection.execute(step)
        named = [number, number in BREAKING]
        await connection.execute("INSERT INTO migration (step, breaks) VALUES (%s, %s)", named)
    return max(0, len(STEPS) - done)


def unreachable(error: Exception | str) -> StoreError:
    """The error that says that the database cannot be reached, and why."""
    # The message of psycopg names host and database, never the password; it may have lines.
    reason = " ".join(str(error).split()).rstrip(".")
    return StoreError(f"The database cannot be reached: {reason}. Start it, or set DATABASE_URL.")
