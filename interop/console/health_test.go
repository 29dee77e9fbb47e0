package console

import (
	"net/http"
	"strings"
	"testing"
)

// besideGateway runs the real program with scripted replies, sends it a request for
// each of some models, and returns the address of its console.
func besideGateway(t *testing.T) (base string) {
	t.Helper()
	addresses := announced(t, program(t), t.TempDir(), "The console:", "serve", "--listen", "127.0.0.1:0", "--scripted-listen", "127.0.0.1:0", "--console", "--console-listen", "127.0.0.1:0", "--record", "audit", "--data", "data")
	gateway, base := addresses["The gateway:"], addresses["The console:"]+"/"
	for _, model := range []string{"deepseek-r1", "deepseek-r1", "cut-off", "scratch-pad"} {
		resp, err := http.Post(gateway+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"Which tower?"}]}`))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(model, err, resp)
		}
		resp.Body.Close()
	}
	return base
}

// TestHealth looks at the health of a real gateway, verifies its record, and forgets
// what was learned of a model.
func TestHealth(t *testing.T) {
	b := open(t, besideGateway(t))
	b.looks(map[string]string{"health-gateway": "health"})
	b.look(1440, "light")
	b.visit("health")
	if text := js[string](b, "document.body.textContent"); !strings.Contains(text, "reachable") || !strings.Contains(text, "deepseek-r1") || !strings.Contains(text, "sotto_leaks_corrected_total") {
		t.Errorf("the page says\n%s", text)
	}
	_ = js[bool](b, `setTimeout(() => document.querySelector('form[action="health/verify"]').requestSubmit()), true`)
	b.until(`/Verified up to event [4-9]/.test(document.body?.innerText)`)
	const learned = `[...document.querySelectorAll("form.forget")].find(f => f.model.value === "deepseek-r1")`
	_ = js[bool](b, `setTimeout(() => { const f = `+learned+`; f.confirm.value = "deepseek-r1"; f.requestSubmit() }), true`)
	b.until(`document.readyState === "complete" && document.querySelector("form.forget") !== null && ` + learned + ` === undefined`)
}
