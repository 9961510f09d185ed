"""The statements that wake, take and finish work.

Source: docs/design.md, "Work".

A row is wanted while `wanted > seen`. A look begins by noting `wanted` and ends by writing that
into `seen`: a wake in between has raised `wanted` once more, and causes another look.
"""

from psycopg.sql import SQL, Composable

from bot.store.hints import MOST_PRESSED, MOST_TRACES

LISTENER = "porchbot "
"""What the database calls the connection by which a process listens, before its name."""

_SERVED = SQL("""WHERE %(repository)s::bigint IS NULL
  OR EXISTS (SELECT FROM adoption WHERE repository = %(repository)s AND gone IS NULL
    AND (key IS DISTINCT FROM %(renamed)s OR full_name <> %(called)s))""")
"""What a delivery wakes; the key that is wanted only under another name, only then."""


def _wake(due: Composable, condition: Composable, heard: Composable) -> Composable:
    return SQL("""
INSERT INTO work AS w (key, hint, priority, due, heard)
SELECT key, hint, priority, {due}, {heard}::timestamptz
FROM unnest(%(keys)s::text[], %(hints)s::jsonb[], %(priorities)s::int[]) AS g(key, hint, priority)
{condition}
ON CONFLICT (key) DO UPDATE SET
  wanted = w.wanted + 1,
  due = LEAST(w.due, EXCLUDED.due),
  heard = CASE WHEN w.wanted > w.seen THEN coalesce(w.heard, EXCLUDED.heard)
    ELSE EXCLUDED.heard END,
  hint = hint_union(w.hint, EXCLUDED.hint - ARRAY[
    CASE WHEN jsonb_array_length(w.hint -> 'trace') >= {traces} THEN 'trace' ELSE '' END,
    CASE WHEN jsonb_array_length(w.hint -> 'pressed') >= {pressed} THEN 'pressed' ELSE '' END])
""").format(due=due, condition=condition, heard=heard, traces=MOST_TRACES, pressed=MOST_PRESSED)


WAKE = _wake(
    SQL("now() + make_interval(secs => %(after)s)"), SQL(""), heard=SQL("NULL")
).as_string()

STORE_DELIVERY = (
    SQL("""
WITH stored AS (
  INSERT INTO delivery AS d (forge, guid, event, action, headers, body, repository)
  VALUES (%(forge)s, %(guid)s, %(event)s, %(action)s, %(headers)s::jsonb, %(body)s, %(repository)s)
  ON CONFLICT (forge, guid) DO UPDATE SET times = d.times + 1
  RETURNING times
), woken AS (
  {wake}
  RETURNING 1
)
SELECT times, (SELECT count(*) FROM woken) FROM stored
""")
    .format(wake=_wake(SQL("now()"), _SERVED, heard=SQL("now()")))
    .as_string()
)

_PLACE = SQL("split_part(key, ':', 1) || ':' || split_part(key, ':', 2)")
"""As `bot.keys.place_of`."""

# The connections of all backends are read only for what was not renewed for long.
_FREE = SQL("""(lease IS NULL OR lease <= now()
  OR (lease <= now() + make_interval(secs => %(silent)s)
    AND NOT EXISTS (SELECT FROM pg_stat_activity
      WHERE application_name = {listener} || split_part(owner, '/', 1))))""").format(
    listener=LISTENER
)

# Ranks and places that are full come from whoever takes: to count here who has how much would cost
# more than the rest of the statement.
TAKE = (
    SQL("""
UPDATE work SET owner = %(owner)s, lease = now() + make_interval(secs => %(lease)s)
WHERE key = (
  SELECT key FROM work
  WHERE wanted > seen AND due <= now()
    AND {free}
    AND (held IS NULL OR held <= now())
    AND split_part(key, ':', 1) <> ALL (%(full)s::text[])
    AND ({place}) <> ALL (%(full)s::text[])
  ORDER BY coalesce((%(ranks)s::jsonb -> ({place}))::int, 0), priority DESC, due, key
  LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING key, wanted, hint, tries, extract(epoch FROM now() - heard)::float,
  CASE WHEN tries > 0 THEN coalesce(extract(epoch FROM now() - failing), 0) ELSE 0 END::float
""")
    .format(free=_FREE, place=_PLACE)
    .as_string()
)

_MINE = SQL("WHERE key = %(key)s AND owner = %(owner)s RETURNING due < 'infinity'")
"""Only while we still have it; says whether it is still wanted."""

# Which proposals and places are named may be named again meanwhile, for something that came since:
# only a look that began after that has dealt with them.
# Wanted meanwhile: again at once, behind those that wait already. Otherwise at rest; or until a
# time, and then it is still wanted, which `seen` one lower says.
DONE = (
    SQL("""
UPDATE work SET
  seen = CASE WHEN wanted = %(wanted)s AND %(after)s::float IS NOT NULL
    THEN %(wanted)s - 1 ELSE %(wanted)s END,
  due = CASE WHEN wanted > %(wanted)s THEN now()
    WHEN %(after)s::float IS NULL THEN 'infinity'
    ELSE now() + make_interval(secs => %(after)s::float) END,
  hint = hint_minus(hint, CASE WHEN wanted > %(wanted)s
    THEN %(hint)s::jsonb - 'number' - 'installation' ELSE %(hint)s::jsonb END),
  heard = CASE WHEN wanted > %(wanted)s THEN now() END, rested = now(),
  tries = 0, last_error = NULL, held = NULL, owner = NULL, lease = NULL
{mine}
""")
    .format(mine=_MINE)
    .as_string()
)

AGAIN = (
    SQL("""
UPDATE work SET
  due = CASE WHEN wanted > %(wanted)s THEN now()
    ELSE now() + make_interval(secs => %(after)s::float) END,
  hint = hint_minus(hint, %(spent)s::jsonb),
  tries = 0, last_error = NULL, held = NULL, owner = NULL, lease = NULL
{mine}
""")
    .format(mine=_MINE)
    .as_string()
)

FAILED = (
    SQL("""
UPDATE work SET
  due = CASE WHEN wanted > %(wanted)s THEN now()
    ELSE now() + make_interval(secs => %(after)s::float) END,
  held = CASE WHEN %(hold)s THEN now() + make_interval(secs => %(after)s::float) END,
  tries = tries + CASE WHEN %(hold)s THEN 0 ELSE 1 END,
  failing = CASE WHEN tries > 0 AND failing IS NOT NULL THEN failing ELSE now() END,
  last_error = %(error)s, owner = NULL, lease = NULL
{mine}
""")
    .format(mine=_MINE)
    .as_string()
)

GIVE_BACK = SQL("UPDATE work SET owner = NULL, lease = NULL {mine}").format(mine=_MINE).as_string()

NEWS = (
    "SELECT hint_minus(hint, %(hint)s::jsonb) FROM work WHERE key = %(key)s AND owner = %(owner)s"
)

# Rows of before it was written down when they came to rest have come to rest long ago.
FORGET = """
DELETE FROM work
WHERE wanted <= seen AND owner IS NULL
  AND coalesce(rested, '-infinity') < now() - make_interval(secs => %(seconds)s)
RETURNING 1
"""

NEXT_DUE = (
    SQL("""
SELECT extract(epoch FROM min(
  GREATEST(due, coalesce(held, due), coalesce(lease, due))) - now())
FROM work WHERE wanted > seen AND ({place}) <> ALL (%(full)s::text[])
  AND split_part(key, ':', 1) <> ALL (%(full)s::text[])
""")
    .format(place=_PLACE)
    .as_string()
)

QUEUE = """
SELECT CASE WHEN split_part(key, ':', 1) ~ '^[0-9]+$' THEN split_part(key, ':', 2)
    ELSE split_part(key, ':', 3) END,
  count(*),
  count(*) FILTER (WHERE due <= now() AND (held IS NULL OR held <= now())
    AND (lease IS NULL OR lease <= now())),
  count(*) FILTER (WHERE lease > now()),
  count(*) FILTER (WHERE tries > 0),
  coalesce(extract(epoch FROM now() - min(due) FILTER (WHERE due <= now()
    AND (lease IS NULL OR lease <= now()))), 0)::float
FROM work WHERE wanted > seen GROUP BY 1
"""

FAILING = """
SELECT w.key, coalesce(a.full_name, ''), w.tries, coalesce(w.last_error, ''),
  GREATEST(0, extract(epoch FROM GREATEST(w.due, coalesce(w.held, w.due)) - now()))::float
FROM work w
LEFT JOIN served s
  ON (s.forge, s.number::text) = (split_part(w.key, ':', 1), split_part(w.key, ':', 2))
LEFT JOIN adoption a USING (repository)
WHERE w.wanted > w.seen AND (w.tries > 0 OR w.held > now())
ORDER BY w.tries DESC, w.key LIMIT %(most)s
"""

RESTED = """
SELECT CASE split_part(key, ':', 3) WHEN 'sweep' THEN split_part(key, ':', 4)
    ELSE split_part(key, ':', 3) END,
  count(*), max(rested), min(rested),
  GREATEST(0, extract(epoch FROM min(due) FILTER (WHERE wanted > seen) - now()))::float
FROM work WHERE split_part(key, ':', 3) IN ('installations', 'installation', 'sweep', 'repository')
GROUP BY 1 ORDER BY 1
"""
