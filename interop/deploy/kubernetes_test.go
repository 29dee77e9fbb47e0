package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// decoder refuses unknown and repeated fields, as kubectl apply --validate=strict does.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// manifests are all objects of the folder.
func manifests(t *testing.T) []runtime.Object {
	t.Helper()
	decode := decoder(t)
	files, err := filepath.Glob(filepath.Join(folder, "kubernetes", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all []runtime.Object
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(string(data), "\n---\n") {
			object, _, err := decode.Decode([]byte(text), nil, nil)
			if err != nil {
				t.Fatalf("%s, object %d: %v", file, i+1, err)
			}
			all = append(all, object)
		}
	}
	return all
}

// one returns the only object of a type.
func one[T runtime.Object](t *testing.T) T {
	t.Helper()
	var found []T
	for _, object := range manifests(t) {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of the type %T", len(found), *new(T))
	}
	return found[0]
}

func configMap(t *testing.T) string {
	t.Helper()
	return one[*corev1.ConfigMap](t).Data["gateway.yaml"]
}

// TestKubernetesIsStrict: the decoder that the other tests trust refuses what the API
// server would ignore.
func TestKubernetesIsStrict(t *testing.T) {
	decode, text := decoder(t), read(t, "kubernetes/network.yaml")
	for _, wrong := range [][2]string{
		{"podSelector:", "podselector:"},
		{"policyTypes:", "policyType:"},
		{"networking.k8s.io/v1", "networking.k8s.io/v2"},
		{"  egress:\n", "  egress: []\n  egress:\n"},
	} {
		if !strings.Contains(text, wrong[0]) {
			t.Fatalf("network.yaml has no %q", wrong[0])
		}
		if _, _, err := decode.Decode([]byte(strings.Replace(text, wrong[0], wrong[1], 1)), nil, nil); err == nil {
			t.Errorf("%q is accepted", wrong[1])
		}
	}
}

// TestKubernetesSelectors: what selects the pods of the gateway selects them, and what
// names the Deployment names it.
func TestKubernetesSelectors(t *testing.T) {
	d := one[*appsv1.Deployment](t)
	pod := labels.Set(d.Spec.Template.Labels)
	budget, policy := one[*policyv1.PodDisruptionBudget](t), one[*networkingv1.NetworkPolicy](t)
	for name, selector := range map[string]*metav1.LabelSelector{
		"Deployment": d.Spec.Selector, "PodDisruptionBudget": budget.Spec.Selector, "NetworkPolicy": &policy.Spec.PodSelector,
		"Service":                   {MatchLabels: one[*corev1.Service](t).Spec.Selector},
		"topologySpreadConstraints": d.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector,
	} {
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || s.Empty() || !s.Matches(pod) {
			t.Errorf("%s selects %v: %v", name, selector, err)
		}
	}
	scaler := one[*autoscalingv2.HorizontalPodAutoscaler](t).Spec
	if to := scaler.ScaleTargetRef; to.Name != d.Name || to.Kind != d.Kind || to.APIVersion != d.APIVersion {
		t.Errorf("the autoscaler has the target %+v", to)
	}
	if d.Spec.Replicas != nil {
		t.Error("each apply would undo what the autoscaler decided")
	}
	if *scaler.MinReplicas <= int32(budget.Spec.MaxUnavailable.IntValue()) {
		t.Error("the budget lets every replica go")
	}
}

// TestKubernetesPod: the pod has no rights that it does not need, finds what its settings
// name, and is asked and stopped as the gateway expects.
func TestKubernetesPod(t *testing.T) {
	d, s := one[*appsv1.Deployment](t), parseSettings(t, configMap(t))
	spec := d.Spec.Template.Spec
	c := spec.Containers[0]
	if spec.SecurityContext == nil || !*spec.SecurityContext.RunAsNonRoot || *spec.AutomountServiceAccountToken ||
		!*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation || c.SecurityContext.Capabilities.Drop[0] != "ALL" {
		t.Error("the pod has rights that it does not need")
	}
	if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Error("a probe asks the wrong path")
	}
	for _, port := range []string{c.ReadinessProbe.HTTPGet.Port.StrVal, c.LivenessProbe.HTTPGet.Port.StrVal, one[*corev1.Service](t).Spec.Ports[0].TargetPort.StrVal,
		one[*networkingv1.NetworkPolicy](t).Spec.Ingress[0].Ports[0].Port.StrVal} {
		if port != c.Ports[0].Name {
			t.Errorf("no port is called %q", port)
		}
	}
	if !strings.HasSuffix(s.Listen, ":8383") || c.Ports[0].ContainerPort != 8383 {
		t.Errorf("the gateway listens on %s, the port is %d", s.Listen, c.Ports[0].ContainerPort)
	}
	takes := time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second + s.delay(t) + s.wait(t)
	if grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second; grace < takes+5*time.Second {
		t.Errorf("the pod is killed after %s, and takes %s", grace, takes)
	}
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	for _, v := range spec.Volumes {
		at := mounts[v.Name]
		switch {
		case v.ConfigMap != nil:
			if v.ConfigMap.Name != one[*corev1.ConfigMap](t).Name || c.Args[2] != at+"/gateway.yaml" {
				t.Errorf("the settings %s are at %s, and the gateway reads %s", v.ConfigMap.Name, at, c.Args[2])
			}
		case v.Secret != nil:
			for _, path := range s.secrets() {
				if filepath.Dir(path) != at || !strings.Contains(read(t, "kubernetes/gateway.yaml"), "--from-literal="+filepath.Base(path)+"=") {
					t.Errorf("no secret is at %s", path)
				}
			}
			if *v.Secret.DefaultMode&0o007 != 0 {
				t.Errorf("everybody may read the secrets: %o", *v.Secret.DefaultMode)
			}
		case at != s.Data:
			t.Errorf("%s is at %q, and the gateway writes to %s", v.Name, at, s.Data)
		}
	}
}

// TestKubernetesNetwork: the gateway may reach what its settings name.
func TestKubernetesNetwork(t *testing.T) {
	text := configMap(t)
	open := map[int]bool{}
	for _, rule := range one[*networkingv1.NetworkPolicy](t).Spec.Egress {
		if len(rule.To) == 0 {
			t.Error("a rule allows every address")
		}
		for _, port := range rule.Ports {
			open[port.Port.IntValue()] = true
		}
	}
	for address, port := range map[string]int{"upstream: http://vllm:8000": 8000, "shared: redis://valkey:6379": 6379} {
		if !strings.Contains(text, address) || !open[port] {
			t.Errorf("%s cannot be reached", address)
		}
	}
}
