/* What sotto.h promises, as a program for sanitizers and valgrind. With an argument it reads
 * cases from the standard input instead: options, reply and end, each as a line with its size
 * and its bytes. It prints for each the JSON of the whole, and the texts of the stream that
 * cuts it at every byte. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sotto.h"

#define WANT(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

static bool equal(sotto_text t, const char *want) {
	return t.size == strlen(want) && memcmp(t.data, want, t.size) == 0 && t.data[t.size] == 0;
}

static void whole(void) {
	sotto_error error;
	sotto_reader *r = sotto_reader_new(NULL, &error);
	WANT(r);
	const char *raw = "</think>a<think>b</think>c<narration>";
	sotto_reply *reply = sotto_parse(r, raw, strlen(raw), SOTTO_STOPPED, &error);
	WANT(reply && reply->reasoning_count == 1 && equal(reply->reasoning[0], "b"));
	WANT(reply->diagnostic_count >= 1 && reply->diagnostics[0].offset == 0);
	size_t at = 0;
	for (size_t i = 0; i < reply->segment_count; i++) {
		WANT(reply->segments[i].start == at && reply->segments[i].channel <= SOTTO_MARKUP);
		at = reply->segments[i].end;
	}
	WANT(at == strlen(raw));
	sotto_free(reply);

	reply = sotto_parse(r, NULL, 0, SOTTO_UNKNOWN, NULL);
	WANT(reply && reply->visible.size == 0 && reply->segment_count == 0 && equal(reply->dialect, "default"));
	sotto_free(reply);

	sotto_text texts[] = {{"<think>a</think>b", 17}, {NULL, 0}, {"c\0d", 3}};
	sotto_text *visible = sotto_strip(r, texts, 3, &error);
	WANT(visible && equal(visible[0], "b") && visible[1].size == 0 && visible[2].size == 3 && memcmp(visible[2].data, "c\0d", 4) == 0);
	sotto_free(visible);
	visible = sotto_strip(r, NULL, 0, &error);
	WANT(visible);
	sotto_free(visible);

	/* The visible texts, the thoughts and the narration lie behind each other, and a copy of size bytes has all. */
	size_t size = 0;
	sotto_text many[] = {{"<think>a</think>b<think>c</think>", 33}, {NULL, 0}, {"<narrate>d</narrate>e</think>", 29}};
	reply = sotto_parse_many(r, many, 3, SOTTO_STOPPED, &size, &error);
	WANT(reply && equal(reply[0].visible, "b") && reply[1].visible.size == 0 && reply[0].reasoning_count == 2);
	WANT(reply[1].visible.data == reply[0].visible.data + 2 && reply[0].reasoning[1].data == reply[0].reasoning[0].data + 2);
	WANT((const char *)reply < reply[2].visible.data && reply[2].diagnostics[0].reason.data < (const char *)reply + size);
	WANT(reply[2].narration_count == 1 && equal(reply[2].narration[0], "d") && reply[1].segment_count == 0 && equal(reply[2].dialect, "default"));
	char *copy = malloc(size);
	memcpy(copy, reply, size);
	free(copy);
	sotto_free(reply);
	reply = sotto_parse_many(r, NULL, 0, SOTTO_STOPPED, &size, NULL);
	WANT(reply);
	sotto_free(reply);
	sotto_free(NULL);
	sotto_reader_free(r);
	sotto_reader_free(NULL);
}

static void refused(const char *options, const char *why) {
	sotto_error error;
	WANT(!sotto_reader_new(options, &error) && strstr(error.text, why));
	WANT(!sotto_reader_new(options, NULL));
}

static void errors(void) {
	sotto_error error;
	refused("{", "options");
	refused("{\"modell\":\"x\"}", "modell");
	refused("{} {}", "after the object");
	refused("{\"dialect\":\"nobody\"}", "nobody");
	refused("{\"dialect\":7}", "want a name");
	refused("{\"start\":\"x\"}", "outside");
	char *deep = malloc(100001);
	memset(deep, '[', 100000);
	deep[100000] = 0;
	refused(deep, "options");
	free(deep);
	char *long_name = malloc(5000);
	strcpy(long_name, "{\"dialect\":\"");
	for (int i = 12; i < 4000; i += 2) memcpy(long_name + i, "\xc3\xa9", 3);
	strcat(long_name, "\"}");
	WANT(!sotto_reader_new(long_name, &error) && memchr(error.text, 0, sizeof error.text));
	free(long_name);

	sotto_deltas out;
	WANT(!sotto_parse(NULL, "x", 1, SOTTO_STOPPED, &error) && strstr(error.text, "NULL"));
	WANT(!sotto_stream_new(NULL, &error) && strstr(error.text, "NULL"));
	WANT(!sotto_feed(NULL, "x", 1, &out, &error) && strstr(error.text, "NULL"));
	WANT(!sotto_close(NULL, SOTTO_STOPPED, &out, NULL));
	sotto_reset(NULL);
	sotto_stream_free(NULL);
	sotto_reader *r = sotto_reader_new("{\"model\":\"qwen3\"}", &error);
	WANT(!sotto_parse(r, NULL, 1, SOTTO_STOPPED, &error) && strstr(error.text, "NULL"));
	WANT(!sotto_parse(r, "x", (size_t)-1, SOTTO_STOPPED, &error) && strstr(error.text, "1 GiB"));
	WANT(!sotto_parse(r, "x", 1, (sotto_ending)9, &error) && strstr(error.text, "ending 9"));
	WANT(!sotto_strip(r, NULL, 1, &error) && strstr(error.text, "NULL"));
	sotto_text bad = {NULL, 3};
	WANT(!sotto_strip(r, &bad, 1, &error) && strstr(error.text, "reply 0"));
	WANT(!sotto_parse_many(r, &bad, 1, SOTTO_STOPPED, NULL, &error) && strstr(error.text, "reply 0"));
	WANT(!sotto_parse_many(r, NULL, 0, (sotto_ending)9, NULL, &error) && strstr(error.text, "ending 9"));
	sotto_stream *s = sotto_stream_new(r, &error);
	sotto_reader_free(r);
	WANT(sotto_close(s, SOTTO_STOPPED, &out, &error) && out.count == 0);
	WANT(!sotto_feed(s, "x", 1, &out, &error) && strstr(error.text, "reset"));
	WANT(!sotto_close(s, SOTTO_STOPPED, &out, &error) && strstr(error.text, "closed"));
	sotto_reset(s);
	WANT(sotto_feed(s, "<think>a", 8, &out, &error) && out.count == 1 && out.list[0].kind == SOTTO_DELTA_REASONING);
	WANT(sotto_feed(s, "x", 1, NULL, NULL));
	WANT(sotto_close(s, SOTTO_CUT, &out, &error) && out.count == 1 && out.list[0].kind == SOTTO_DELTA_REASONING_BREAK);
	sotto_stream_free(s);
}

static void next_request(void) {
	sotto_error error;
	const char *body = "{\"model\":\"qwen3:8b\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
		"{\"role\":\"assistant\",\"content\":\"<think>b</think>c\"},{\"role\":\"user\",\"content\":\"d\"}]}";
	sotto_text *next = sotto_next_request(NULL, body, strlen(body), &error);
	WANT(next && strstr(next->data, "\"content\":\"c\"") && !strstr(next->data, "think"));
	sotto_free(next);
	WANT(!sotto_next_request("nobody", body, strlen(body), &error) && strstr(error.text, "unknown API"));
	WANT(!sotto_next_request("chat", "{", 1, &error) && strstr(error.text, "request"));
	WANT(!sotto_next_request("chat", NULL, 1, &error) && strstr(error.text, "NULL"));
}

/* Readers are shared by threads, streams are not. */
static void *read_many(void *reader) {
	sotto_stream *s = sotto_stream_new(reader, NULL);
	WANT(s);
	for (int i = 0; i < 200; i++) {
		sotto_deltas out;
		size_t text = 0;
		const char *parts[] = {"<thi", "nk>a</th", "ink>", "b", "c"};
		for (int k = 0; k < 5; k++) {
			WANT(sotto_feed(s, parts[k], strlen(parts[k]), &out, NULL));
			for (size_t d = 0; d < out.count; d++)
				if (out.list[d].kind == SOTTO_DELTA_TEXT) text += out.list[d].text.size;
		}
		WANT(sotto_close(s, SOTTO_STOPPED, &out, NULL));
		WANT(text == 2);
		sotto_reset(s);
		sotto_text reply = {"<think>a</think>b", 17}, *visible = sotto_strip(reader, &reply, 1, NULL);
		WANT(visible && equal(visible[0], "b"));
		sotto_free(visible);
	}
	sotto_stream_free(s);
	return NULL;
}

static void threads(void) {
	sotto_reader *r = sotto_reader_new("{\"model\":\"qwen3\"}", NULL);
	pthread_t all[8];
	for (int i = 0; i < 8; i++) WANT(pthread_create(&all[i], NULL, read_many, r) == 0);
	for (int i = 0; i < 8; i++) pthread_join(all[i], NULL);
	sotto_reader_free(r);
}

/* Reads a size, a newline, and as many bytes. NULL at the end of the input. */
static char *frame(size_t *size) {
	if (scanf("%zu", size) != 1) return NULL;
	getchar();
	char *data = malloc(*size + 1);
	WANT(data && fread(data, 1, *size, stdin) == *size);
	data[*size] = 0;
	return data;
}

static void line(const char *kind, sotto_text t) {
	printf("%s %zu\n", kind, t.size);
	fwrite(t.data, 1, t.size, stdout);
	putchar('\n');
}

static void deltas(const sotto_deltas *out) {
	static const char *kinds[] = {"text", "reasoning", "end", "break", "narration", "tool"};
	for (size_t i = 0; i < out->count; i++) {
		printf("%u ", out->list[i].block);
		line(kinds[out->list[i].kind], out->list[i].text);
	}
	for (size_t i = 0; i < out->diagnostic_count; i++) {
		printf("%zu ", out->diagnostics[i].offset);
		line(out->diagnostics[i].code.data, out->diagnostics[i].reason);
	}
}

static void same(sotto_text a, sotto_text b) { WANT(a.size == b.size && memcmp(a.data, b.data, a.size) == 0 && b.data[b.size] == 0); }

static void same_texts(const sotto_text *a, size_t an, const sotto_text *b, size_t bn) {
	WANT(an == bn);
	for (size_t i = 0; i < an; i++) same(a[i], b[i]);
}

/* A reply among others reads as it reads alone. */
static void alike(sotto_reader *r, const char *raw, size_t size, sotto_ending end) {
	sotto_text many[] = {{raw, size}, {"<think>a</think>b", 17}, {raw, size}};
	sotto_reply *one = sotto_parse(r, raw, size, end, NULL), *all = sotto_parse_many(r, many, 3, end, NULL, NULL);
	WANT(one && all);
	for (int i = 0; i < 3; i += 2) {
		sotto_reply *a = one, *b = &all[i];
		same(a->visible, b->visible), same(a->dialect, b->dialect), same(a->start, b->start);
		same_texts(a->reasoning, a->reasoning_count, b->reasoning, b->reasoning_count);
		same_texts(a->narration, a->narration_count, b->narration, b->narration_count);
		WANT(a->segment_count == b->segment_count && a->diagnostic_count == b->diagnostic_count && a->more_diagnostics == b->more_diagnostics);
		for (size_t k = 0; k < a->segment_count; k++) {
			sotto_segment x = a->segments[k], y = b->segments[k];
			WANT(x.channel == y.channel && x.block == y.block && x.start == y.start && x.end == y.end);
		}
		for (size_t k = 0; k < a->diagnostic_count; k++) {
			same(a->diagnostics[k].code, b->diagnostics[k].code), same(a->diagnostics[k].reason, b->diagnostics[k].reason);
			WANT(a->diagnostics[k].offset == b->diagnostics[k].offset);
		}
	}
	sotto_free(one), sotto_free(all);
}

static void cases(void) {
	char *options, *reply, *end;
	size_t n, size;
	while ((options = frame(&n))) {
		reply = frame(&size);
		end = frame(&n);
		sotto_error error;
		sotto_reader *r = sotto_reader_new(options, &error);
		if (!r) fprintf(stderr, "%s\n", error.text);
		WANT(r);
		sotto_ending ending = (sotto_ending)atoi(end);
		sotto_text *json = sotto_parse_json(r, reply, size, ending, &error);
		WANT(json);
		line("whole", *json);
		sotto_free(json);
		alike(r, reply, size, ending);
		sotto_deltas out;
		sotto_stream *s = sotto_stream_new(r, &error);
		for (size_t i = 0; i < size; i++) {
			char *one = malloc(1); /* a byte of its own, so that a reader beyond it is found */
			*one = reply[i];
			WANT(sotto_feed(s, one, 1, &out, &error));
			free(one);
			deltas(&out);
		}
		WANT(sotto_close(s, ending, &out, &error));
		deltas(&out);
		puts(".");
		sotto_stream_free(s);
		sotto_reader_free(r);
		free(options), free(reply), free(end);
	}
}

int main(int argc, char **argv) {
	(void)argv;
	if (argc > 1) {
		cases();
		return 0;
	}
	WANT(strlen(sotto_version()) > 0);
	whole();
	errors();
	next_request();
	threads();
	puts("ok");
	return 0;
}
