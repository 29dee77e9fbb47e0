// Compares tables of a record as DuckDB reads them: FOLDER/KIND.parquet with the same
// rows in FOLDER/KIND.jsonl and FOLDER/KIND.csv, both read with the types of the
// Parquet file. Prints a line of JSON for each kind.
import fs from 'node:fs'
import path from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'

const db = await (await DuckDBInstance.create(':memory:')).connect()
const rows = async (query) => (await db.runAndReadAll(query)).getRowObjectsJson()
const folder = process.argv[2]
for (const file of fs.readdirSync(folder).filter((name) => name.endsWith('.parquet')).sort()) {
  const name = path.basename(file, '.parquet')
  const at = (ext) => `${path.join(folder, name)}.${ext}`
  const columns = await rows(`describe select * from '${at('parquet')}'`)
  const types = `{${columns.map((c) => `'${c.column_name}': '${c.column_type}'`).join(', ')}}`
  const parquet = `select * from '${at('parquet')}'`
  const others = {
    jsonl: `select * from read_json('${at('jsonl')}', format = 'newline_delimited', columns = ${types})`,
    csv: `select * from read_csv('${at('csv')}', header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, auto_detect = false, new_line = '\\n', columns = ${types})`,
  }
  const count = async (query) => Number((await rows(`select count(*) as n from (${query})`))[0].n)
  const report = { name, columns: columns.map((c) => `${c.column_name} ${c.column_type}`), rows: await count(parquet) }
  for (const [kind, other] of Object.entries(others)) {
    report[kind] = { rows: await count(other), lost: await count(`(${parquet}) except all (${other})`) }
  }
  console.log(JSON.stringify(report))
}
