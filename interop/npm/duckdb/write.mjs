// Writes Parquet files with DuckDB, the same rows in every form, and the rows as
// JSON Lines, into the folder given.
import path from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'

const rows = `
  select i as id,
    case when i % 7 = 0 then null else '<think>so ' || i || '</think>The answer is ' || i || '.' end as raw,
    i::varchar as gold,
    [{role: 'user', content: 'q' || i}, {role: 'assistant', content: '<think>t</think>a' || (i % 5)}] as messages,
    case when i % 3 = 0 then [] when i % 3 = 1 then ['a', null, 'ü"\\n'] end as tags,
    [[i], [], [i, null]] as deep,
    map {'k': i, 'l': null} as pairs,
    {a: {b: (i % 256)::utinyint, c: [i % 2 = 0]}} as nested,
    (i / 4)::decimal(9, 2) as price,
    (i - 500)::decimal(38, 3) as wide,
    date '2024-01-01' + i::int as day,
    i::double / 3 as third,
    (18446744073709551615 - i::uhugeint)::ubigint as big,
    (-i)::smallint as small,
    uuid() as unique_id,
    'kind' || (i % 3) as kind,
    case when i % 2 = 0 then i % 4 = 0 end as flag
  from range(3000) r(i)`

const forms = {
  plain: 'compression uncompressed',
  snappy: 'compression snappy',
  zstd: 'compression zstd',
  gzip: 'compression gzip',
  brotli: 'compression brotli',
  lz4: 'compression lz4_raw',
  version2: 'compression zstd, parquet_version v2',
  groups: 'compression snappy, row_group_size 1000',
  nodictionary: 'compression zstd, dictionary_size_limit 0',
}

async function main(folder) {
  const db = await (await DuckDBInstance.create(':memory:')).connect()
  await db.run(`create table t as ${rows}`)
  await db.run(`copy t to '${path.join(folder, 'rows.json')}' (format json)`)
  for (const [name, options] of Object.entries(forms)) {
    await db.run(`copy t to '${path.join(folder, name + '.parquet')}' (format parquet, ${options})`)
  }
}

main(process.argv[2]).catch((err) => { console.error(err); process.exit(1) })
