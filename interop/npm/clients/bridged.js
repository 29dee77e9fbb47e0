// Clients that are only used over a bridge: they speak the APIs of Google and Amazon.
import * as ai from 'ai';
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { ChatBedrockConverse } from '@langchain/aws';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime';
import { speak as speakAI } from './ai.js';
import { speak as speakLangChain } from './langchain.js';

const google = speakAI(ai, (t) => createGoogleGenerativeAI({ baseURL: `${t.base}/v1beta`, apiKey: t.key })(t.model));
const bedrock = speakAI(ai, (t) => createAmazonBedrock({ baseURL: t.base, apiKey: t.key, region: 'us-east-1' })(t.model));

const langchainGoogle = speakLangChain((t) => new ChatGoogleGenerativeAI({ model: t.model, apiKey: t.key, baseUrl: t.base, maxRetries: 0 }));
const langchainBedrock = speakLangChain((t) => new ChatBedrockConverse({
  model: t.model, region: 'us-east-1', maxRetries: 0, credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
  client: new BedrockRuntimeClient({
    region: 'us-east-1', endpoint: t.base, maxAttempts: 1, token: { token: t.key }, authSchemePreference: ['httpBearerAuth'],
  }),
}));

export default [
  { name: 'ai 7, google', package: '@ai-sdk/google', with: 'ai', api: 'gemini.generate', talk: google },
  { name: 'ai 7, bedrock', package: '@ai-sdk/amazon-bedrock', with: 'ai', api: 'bedrock.converse', talk: bedrock },
  { name: '@langchain/google-genai', package: '@langchain/google-genai', api: 'gemini.generate', talk: langchainGoogle },
  { name: '@langchain/aws', package: '@langchain/aws', api: 'bedrock.converse', talk: langchainBedrock },
];
