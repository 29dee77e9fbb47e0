// A Talk is one conversation through the gateway. A client asks for its prompts, and
// reports what it reads to it.
export class Talk {
  turns = [];
  #abort = new AbortController();

  // plan has base, key, model, prompts, tools, stream, abort and mark.
  // With a mark, the prompts have the key in them.
  constructor(plan) {
    Object.assign(this, plan);
    this.signal = this.#abort.signal;
  }

  // questions begins a turn for each prompt of the user.
  *questions() {
    for (const prompt of this.prompts) {
      this.turns.push({ text: '', thought: '', calls: [] });
      yield this.mark ? `${prompt} (${this.key})` : prompt;
    }
  }

  get #turn() { return this.turns.at(-1); }

  // say is what a program does with text. Programs write it without looking, so
  // undefined is an error.
  say(text) {
    if (typeof text !== 'string') throw new TypeError(`the client's text is ${text}`);
    this.#turn.text += text;
    if (this.abort && text) this.#abort.abort();
  }

  // think is for reasoning. Clients that find none give undefined.
  think(text) { this.#turn.thought += text ?? ''; }

  // call runs the tool and returns its result.
  call(name, args) {
    this.#turn.calls.push({ name, arguments: typeof args === 'string' ? JSON.parse(args) : args });
    return '4 °C, light rain';
  }

  // offer returns the tools in a client's form, or undefined if the request has none.
  offer(form) { return this.tools ? [form(weather)] : undefined; }
}

export const weather = {
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: {
    type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false,
  },
};
