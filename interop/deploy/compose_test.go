package deploy

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

const folder = "../../examples/deploy"

// gateways are the services of compose.yaml that run a gateway.
var gateways = []string{"gateway-1", "gateway-2", "gateway-3"}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// compose loads text as compose.yaml of the folder. compose-go refuses keys that are
// not in its schema, and names of networks, secrets and the like that do not exist.
func compose(text string, env map[string]string) (*types.Project, error) {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	return loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir:  dir,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml"), Content: []byte(text)}},
		Environment: env,
	}, func(o *loader.Options) { o.SetProjectName("sotto-replicas", true) })
}

func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := compose(read(t, "compose.yaml"), map[string]string{"SOTTO_UPSTREAM": "http://vllm:8000"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestComposeIsStrict: the loader that the other tests trust refuses what Docker would.
func TestComposeIsStrict(t *testing.T) {
	text := read(t, "compose.yaml")
	env := map[string]string{"SOTTO_UPSTREAM": "http://vllm:8000"}
	for _, wrong := range [][2]string{
		{"read_only: true", "readonly: true"},
		{"networks: [front]", "networks: [frnt]"},
		{"stop_grace_period: 75s", "stop_grace_period: soon"},
	} {
		if !strings.Contains(text, wrong[0]) {
			t.Fatalf("compose.yaml has no %q", wrong[0])
		}
		if _, err := compose(strings.Replace(text, wrong[0], wrong[1], 1), env); err == nil {
			t.Errorf("%s is accepted", wrong[1])
		}
	}
	if _, err := compose(text, nil); err == nil || !strings.Contains(err.Error(), "SOTTO_UPSTREAM") {
		t.Errorf("without an upstream: %v", err)
	}
}

// TestComposeServices: no service runs as root, writes to its image or keeps rights, and
// only the proxy is published beyond this machine.
func TestComposeServices(t *testing.T) {
	p := project(t)
	pinned := regexp.MustCompile(`^[a-z/]+:(local|v?[0-9]+\.[0-9][a-z0-9.-]*)$`)
	for name, s := range p.Services {
		if s.User == "" || s.User == "root" || strings.HasPrefix(s.User, "0") {
			t.Errorf("%s runs as %q", name, s.User)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Privileged {
			t.Errorf("%s has rights that it does not need", name)
		}
		if !pinned.MatchString(s.Image) {
			t.Errorf("%s: the image %s has no version", name, s.Image)
		}
		for _, port := range s.Ports {
			if name != "proxy" && port.HostIP != "127.0.0.1" {
				t.Errorf("%s is published at %s:%s", name, port.HostIP, port.Published)
			}
		}
		if s.HealthCheck == nil || s.HealthCheck.Disable {
			t.Errorf("%s: health check %+v", name, s.HealthCheck)
		}
		for key, value := range s.Environment {
			if value == nil || regexp.MustCompile(`(?i)token|secret|password|key`).MatchString(key) || strings.Contains(key, "CREDENTIALS") && !strings.HasPrefix(*value, "/run/secrets/") {
				t.Errorf("%s: %s is in the environment, which is no place for a secret", name, key)
			}
		}
	}
	head, _, _ := strings.Cut(read(t, "compose.yaml"), "\nname:") // says how the secrets are made
	for name, c := range p.Secrets {
		if !strings.Contains(head, name) || filepath.Base(c.File) != name {
			t.Errorf("nothing says how %s is made", name)
		}
	}
	if !p.Networks["back"].Internal || p.Services["valkey"].Networks["front"] != nil || len(p.Services["valkey"].Networks) != 1 {
		t.Error("the store can be reached from outside")
	}
	for name, c := range p.Configs {
		if _, err := os.Stat(c.File); err != nil {
			t.Errorf("config %s: %v", name, err)
		}
	}
}

// TestComposeGateways: each of the three has a folder of its own, the proxy and
// Prometheus know them all, what the settings name is mounted, and Docker waits for
// streams as long as the gateway does.
func TestComposeGateways(t *testing.T) {
	p := project(t)
	settings := parseSettings(t, read(t, "gateway.yaml"))
	proxy, scrape := read(t, "haproxy.cfg"), read(t, "prometheus.yml")
	volumes := map[string]bool{}
	var found []string
	for name, s := range p.Services {
		if s.Image != "sotto:local" {
			continue
		}
		found = append(found, name)
		if len(s.Volumes) != 1 || !strings.HasPrefix(settings.Record, s.Volumes[0].Target+"/") || !strings.HasPrefix(settings.Data, s.Volumes[0].Target+"/") {
			t.Fatalf("%s: the volumes %+v for a record at %s", name, s.Volumes, settings.Record)
		}
		volumes[s.Volumes[0].Source] = true
		if !strings.Contains(proxy, "server "+name+" "+name+":8383\n") {
			t.Errorf("the proxy does not know %s", name)
		}
		if !strings.Contains(scrape, name+":8383") {
			t.Errorf("Prometheus does not know %s", name)
		}
		mounted := map[string]bool{}
		for _, secret := range s.Secrets {
			mounted["/run/secrets/"+secret.Source] = true
		}
		for _, path := range append(settings.secrets(), *s.Environment["AWS_SHARED_CREDENTIALS_FILE"]) {
			if !mounted[path] {
				t.Errorf("%s has no %s", name, path)
			}
		}
		if wait := settings.delay(t) + settings.wait(t); time.Duration(*s.StopGracePeriod) < wait+5*time.Second {
			t.Errorf("%s is killed %s after its signal, and takes %s", name, s.StopGracePeriod, wait)
		}
		if s.Ulimits["nofile"].Soft < 2*settings.Limits.Connections {
			t.Errorf("%s: %d descriptors for %d connections", name, s.Ulimits["nofile"].Soft, settings.Limits.Connections)
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, gateways) || len(volumes) != 3 {
		t.Errorf("the gateways %q share %d volumes", found, len(volumes))
	}
	if settings.Limits.PerAddress != settings.Limits.Connections {
		t.Error("the proxy may not open all connections")
	}
	if delay := settings.delay(t); delay < 3*time.Second { // two checks of a second, and what they take
		t.Errorf("the proxy has %s to notice that a gateway goes", delay)
	}
}
