"""The function of the database that takes tokens out of budgets: a migration of its own."""

BUDGET_WINDOWS = """
-- As `budget_take`, which replicas of the release before go on with; a window lasts for `span`
-- seconds at most, told or not, and a clock that is set back takes nothing away.
CREATE FUNCTION budget_draw(
  named text, draws jsonb, told jsonb, slack float8, untold float8, same float8, span float8
) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  kept jsonb; until timestamptz; t float8; wait float8; short float8;
  d jsonb; l jsonb; tokens float8; size float8; began float8; ends float8; known float8;
BEGIN
  SELECT levels, paused INTO kept, until FROM budget WHERE account = named FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO budget (account) VALUES (named) ON CONFLICT DO NOTHING;
    SELECT levels, paused INTO kept, until FROM budget WHERE account = named FOR UPDATE;
  END IF;
  t := extract(epoch FROM clock_timestamp());
  IF until > to_timestamp(t + span) THEN
    until := to_timestamp(t + span);
  END IF;
  wait := GREATEST(0, coalesce(extract(epoch FROM until), 0) - t);
  FOR d IN SELECT jsonb_array_elements(told) LOOP
    l := kept -> (d ->> 'bucket');
    known := CASE WHEN l ->> 'ends' IS NOT NULL THEN LEAST((l ->> 'ends')::float8, t + span) END;
    ends := t + LEAST(span, (d ->> 'ends')::float8);
    tokens := (d ->> 'left')::float8;
    IF ends <= known + same THEN
      CONTINUE WHEN ends < known - same;
      ends := known;
      tokens := GREATEST(LEAST((l ->> 'tokens')::float8, tokens), tokens - slack);
    END IF;
    kept := kept || jsonb_build_object(d ->> 'bucket', jsonb_build_object(
      'tokens', tokens, 'size', d -> 'limit', 'at', t, 'ends', ends));
  END LOOP;
  FOR d IN SELECT jsonb_array_elements(draws) LOOP
    l := kept -> (d ->> 'bucket');
    tokens := coalesce((l ->> 'tokens')::float8, (d ->> 'size')::float8);
    size := coalesce((l ->> 'size')::float8, (d ->> 'size')::float8);
    began := LEAST(t, (l ->> 'at')::float8);
    ends := CASE WHEN l ->> 'ends' IS NOT NULL THEN LEAST((l ->> 'ends')::float8, t + span) END;
    IF (d ->> 'rate')::float8 > 0 THEN
      size := (d ->> 'size')::float8;
      tokens := LEAST(size, tokens + (d ->> 'rate')::float8 * (t - began));
      began := t;
    ELSIF coalesce(ends, began + span) <= t THEN
      tokens := size;
      began := t;
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
      'tokens', tokens, 'size', size, 'at', began, 'ends', ends));
  END LOOP;
  IF wait = 0 THEN
    FOR d IN SELECT jsonb_array_elements(draws) LOOP
      kept := jsonb_set(kept, ARRAY[d ->> 'bucket', 'tokens'], to_jsonb(
        (kept -> (d ->> 'bucket') ->> 'tokens')::float8 - (d ->> 'tokens')::float8));
    END LOOP;
  END IF;
  UPDATE budget SET levels = kept, paused = until WHERE account = named;
  RETURN wait;
END
$$;
"""
