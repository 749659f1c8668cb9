// PostGraphile 5 as its guide sets it up, on the tables of the read model.
import { createServer } from 'node:http'
import { grafserv } from 'postgraphile/grafserv/node'
import { makePgService } from 'postgraphile/adaptors/pg'
import { postgraphile } from 'postgraphile'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'

/** It would leave out a table whose enum has a value that is no name, such as 'stock token'. */
const enumNames = {
  name: 'EnumNames',
  version: '1.0.0',
  inflection: { replace: { enumValue: (_, __, value) => value.replaceAll(' ', '_') } },
}

const preset = {
  extends: [PostGraphileAmberPreset],
  plugins: [enumNames],
  pgServices: [
    makePgService({ connectionString: process.env.DATABASE_URL, schemas: ['public'], poolConfig: { max: 10 } }),
  ],
  grafserv: { graphiql: false },
  grafast: { explain: false },
}

const server = createServer()
await postgraphile(preset).createServ(grafserv).addTo(server)
server.listen(Number(process.env.PORT), '127.0.0.1')
