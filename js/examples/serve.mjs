// Serves the route handler with Node.js alone, at a free port of this machine.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { POST } from "./route.mjs";

const server = createServer(async (req, res) => {
  try {
    const gone = new AbortController();
    res.on("close", () => gone.abort());
    const request = new Request(new URL(req.url, "http://localhost"), { method: "POST", body: Readable.toWeb(req), duplex: "half", signal: gone.signal });
    const response = await POST(request);
    res.writeHead(response.status, Object.fromEntries(response.headers));
    for await (const part of response.body) res.write(part);
    res.end();
  } catch (error) {
    res.destroy(error);
  }
});
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
