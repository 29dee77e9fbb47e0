// Prints which members the type declarations of the SDKs have that Sotto does not know, as JSON: for each API
// and side, their names and the types that have them, and the kinds of objects. Standard input has the
// known names of each API. What is below an unknown member or kind is not looked at.
import ts from 'typescript';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = path.join(path.dirname(fileURLToPath(import.meta.url)), 'node_modules');

const snake = (name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

// For each API the files with its declarations, the types of a request and of a reply, and how a name stands on the
// wire. What "skip" types have is the SDK's own business.
const apis = {
  chat: {
    files: ['openai/resources/chat/completions/completions.d.ts'],
    request: ['ChatCompletionCreateParamsBase'], reply: ['ChatCompletion', 'ChatCompletionChunk'],
  },
  responses: {
    files: ['openai/resources/responses/responses.d.ts'],
    request: ['ResponseCreateParamsBase'], reply: ['Response', 'ResponseStreamEvent'],
  },
  messages: {
    files: ['@anthropic-ai/sdk/resources/messages/messages.d.ts', '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts'],
    request: ['MessageCreateParamsBase'], reply: ['Message', 'RawMessageStreamEvent', 'BetaMessage', 'BetaRawMessageStreamEvent'],
  },
  gemini: {
    files: ['@google/genai/dist/genai.d.ts'],
    request: ['GenerateContentParameters'], reply: ['GenerateContentResponse'], skip: ['HttpOptions', 'AbortSignal', 'CallableTool', 'HttpResponse'],
  },
  bedrock: {
    files: ['@aws-sdk/client-bedrock-runtime/dist-types/models/models_0.d.ts'],
    request: ['ConverseRequest', 'ConverseStreamRequest'], reply: ['ConverseResponse', 'ConverseStreamOutput'],
  },
  cohere: {
    files: ['cohere-ai/api/resources/v2/client/requests/V2ChatRequest.d.ts', 'cohere-ai/api/resources/v2/types/V2ChatResponse.d.ts', 'cohere-ai/api/resources/v2/types/V2ChatStreamResponse.d.ts'],
    request: ['V2ChatRequest'], reply: ['V2ChatResponse', 'V2ChatStreamResponse'], name: snake,
  },
  ollama: {
    files: ['ollama/dist/index.d.ts'],
    request: ['ChatRequest', 'GenerateRequest'], reply: ['ChatResponse', 'GenerateResponse'],
  },
};

// declaredIn finds the types with some names: those of the files themselves, or else those of what they import.
function declaredIn(program, names, files) {
  program.getTypeChecker(); // it gives each node its parent
  const found = [];
  for (const file of program.getSourceFiles()) {
    if (file.fileName.includes('/typescript/')) continue;
    const visit = (node) => {
      if ((ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)) && node.name && names.includes(node.name.text)) found.push(node);
      if (ts.isModuleDeclaration(node) || ts.isModuleBlock(node) || ts.isSourceFile(node)) ts.forEachChild(node, visit);
    };
    visit(file);
  }
  const own = (node) => files.includes(node.getSourceFile().fileName);
  return found.filter((node) => own(node) || !found.some((other) => other.name.text === node.name.text && own(other)));
}

function unknown(program, roots, known, { skip = [], name = (n) => n }) {
  const checker = program.getTypeChecker();
  const out = {};
  const seen = new Set();
  const walk = (type, of) => {
    if (!type || seen.has(type)) return;
    seen.add(type);
    if (type.isUnionOrIntersection()) return type.types.forEach((t) => walk(t, of));
    if (!(type.flags & ts.TypeFlags.Object)) return;
    if (checker.isArrayType(type) || checker.isTupleType(type)) return checker.getTypeArguments(type).forEach((t) => walk(t, of));
    const symbol = type.aliasSymbol ?? type.symbol;
    const own = symbol && symbol.name !== '__type' ? symbol.name : of;
    if (skip.includes(own)) return;
    const declared = type.symbol?.declarations?.[0]?.getSourceFile().fileName ?? '';
    if (declared.includes('/typescript/') || declared.includes('/@types/')) return checker.getTypeArguments(type).forEach?.((t) => walk(t, of));
    const kind = checker.getPropertyOfType(type, 'type');
    const word = kind?.valueDeclaration && checker.getTypeOfSymbolAtLocation(kind, kind.valueDeclaration);
    if (word?.isStringLiteral() && !known.has(word.value)) {
      (out[`type: ${word.value}`] ??= new Set()).add(own);
      return;
    }
    for (const index of checker.getIndexInfosOfType(type)) walk(index.type, own);
    for (const p of checker.getPropertiesOfType(type)) {
      if (p.flags & (ts.SymbolFlags.Method | ts.SymbolFlags.Accessor)) continue;
      if (p.name.startsWith('__') || p.name.startsWith('$')) continue;
      const at = p.valueDeclaration ?? p.declarations?.[0];
      if (!at) continue;
      const t = checker.getTypeOfSymbolAtLocation(p, at);
      if (t.getCallSignatures().length > 0) continue;
      const key = name(p.name);
      if (known.has(key)) walk(t, own);
      else (out[key] ??= new Set()).add(own);
    }
  };
  for (const node of roots) walk(checker.getTypeAtLocation(node.name), node.name.text);
  return Object.fromEntries(Object.entries(out).sort().map(([k, v]) => [k, [...v].sort()]));
}

const names = JSON.parse(readFileSync(0, 'utf8'));
const result = {};
for (const [api, of] of Object.entries(apis)) {
  const files = of.files.map((f) => path.join(modules, f));
  const program = ts.createProgram(files, {
    moduleResolution: ts.ModuleResolutionKind.NodeNext, module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ESNext, noEmit: true, types: [], strict: true, skipLibCheck: true,
  });
  result[api] = {};
  for (const side of ['request', 'reply']) {
    const roots = declaredIn(program, of[side], files);
    for (const want of of[side]) if (!roots.some((n) => n.name.text === want)) throw new Error(`${api}: no type ${want}`);
    result[api][side] = unknown(program, roots, new Set(names[api]), of);
  }
}
console.log(JSON.stringify(result));
