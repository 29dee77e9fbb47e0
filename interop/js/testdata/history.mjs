// Reads requests, a line each with what package history of Go makes of them, and compares
// what forNextPrompt does: interop/js gives it random ones.
import { createInterface } from "node:readline";
import { forNextPrompt, load } from "../../../js/dist/index.js";

const readers = [await load(), await load({ history: true })];
let all = 0, changed = 0, wrong = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { api, request, want } = JSON.parse(line);
  all++;
  if (JSON.stringify(want.messages) !== JSON.stringify(request.messages)) changed++;
  for (const sotto of readers) {
    const faults = compare(sotto, api, request, want.messages);
    if (faults.length > 0 && wrong++ < 5) console.log(`${api} ${request.model}, history ${sotto.history}\nhave ${JSON.stringify(request.messages)}\n${faults.join("\n")}\n`);
  }
}
console.log(`${all} requests, ${changed} changed, ${wrong} wrong`);
process.exitCode = wrong > 0 || all === 0 || changed * 10 < all ? 1 : 0;

function compare(sotto, api, request, want) {
  const before = JSON.stringify(request.messages), wanted = JSON.stringify(want);
  const next = forNextPrompt(sotto, request.messages, request.model, { api }), got = JSON.stringify(next);
  const again = JSON.stringify(forNextPrompt(sotto, next, request.model, { api }));
  return [
    got !== wanted && `want ${wanted}\n got ${got}`,
    JSON.stringify(request.messages) !== before && "the argument was changed",
    again !== got && `a second time: ${again}`,
    next.some((m, i) => m !== request.messages[i] && JSON.stringify(m) === JSON.stringify(request.messages[i])) && "a message was copied that did not change",
  ].filter(Boolean);
}
