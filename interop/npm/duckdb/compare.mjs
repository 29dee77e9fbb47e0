// Compares Parquet files that Sotto wrote with those that it read, as DuckDB reads
// both: FOLDER/NAME.parquet, and FOLDER/out/NAME.parquet with more columns. Prints a
// line of JSON for each file.
import fs from 'node:fs'
import path from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'

async function main(folder) {
  const db = await (await DuckDBInstance.create(':memory:')).connect()
  const rows = async (query) => (await db.runAndReadAll(query)).getRowObjectsJson()
  const columns = async (file) => (await rows(`describe select * from '${file}'`)).map((c) => `${c.column_name} ${c.column_type}`)
  for (const name of fs.readdirSync(path.join(folder, 'out')).sort()) {
    const old = path.join(folder, name)
    const now = path.join(folder, 'out', name)
    const before = await columns(old)
    const after = await columns(now)
    const numbered = (file, what) => `select row_number() over () as n, ${what} from '${file}'`
    const mine = after.slice(before.length).map((c) => `"${c.split(' ')[0]}"`)
    const all = numbered(old, '*')
    const kept = numbered(now, `* exclude (${mine.join(', ')})`)
    const count = async (query) => Number((await rows(`select count(*) as n from (${query})`))[0].n)
    const first = await rows(`select ${mine.join(', ')} from '${now}' limit 8`)
    const sums = await rows(`select count(*) as rows, count(*) filter (sotto_ok) as ok, count(sotto_error) as errors, sum(len(sotto_attempts)) as attempts from '${now}'`)
    console.log(JSON.stringify({
      name, before, after, first, sums: sums[0],
      lost: await count(`(${all}) except all (${kept})`),
      made: await count(`(${kept}) except all (${all})`),
    }))
  }
}

main(process.argv[2]).catch((err) => { console.error(err); process.exit(1) })
