// PostGraphile over the database of the first argument. Prints its address.
import { createServer } from "node:http";
import { grafserv } from "postgraphile/grafserv/node";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";

const pgl = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: process.argv[2], schemas: ["public"] })],
  grafserv: { graphqlPath: "/", graphiql: false, watch: false },
});
const server = createServer();
await pgl.createServ(grafserv).addTo(server);
server.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
