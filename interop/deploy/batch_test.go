package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestKubernetesJob: the Job has as many pods as its command has shards, has no rights
// that it does not need, and is not taken for a gateway.
func TestKubernetesJob(t *testing.T) {
	job := one[*batchv1.Job](t)
	spec := job.Spec.Template.Spec
	c := spec.Containers[0]
	if *job.Spec.CompletionMode != batchv1.IndexedCompletion || !slices.Contains(c.Args, fmt.Sprintf("auto/%d", *job.Spec.Completions)) {
		t.Errorf("%d pods do %q", *job.Spec.Completions, c.Args)
	}
	if spec.RestartPolicy != "Never" || job.Spec.BackoffLimitPerIndex == nil {
		t.Error("the pods of an index cannot be counted")
	}
	if !*spec.SecurityContext.RunAsNonRoot || *spec.AutomountServiceAccountToken || !*c.SecurityContext.ReadOnlyRootFilesystem || c.SecurityContext.Capabilities.Drop[0] != "ALL" {
		t.Error("the pod has rights that it does not need")
	}
	gateway := one[*appsv1.Deployment](t).Spec.Selector.MatchLabels
	if labels.SelectorFromSet(gateway).Matches(labels.Set(job.Spec.Template.Labels)) {
		t.Error("the Deployment and the Service of the gateway select the pods of the Job")
	}
	if c.Env[0].Value != c.VolumeMounts[0].MountPath+"/credentials" {
		t.Errorf("no credentials are at %s", c.Env[0].Value)
	}
}

// TestJobRuns: the command of the Job, run with each index on files in place of objects,
// does the whole batch, and merges.
func TestJobRuns(t *testing.T) {
	job := one[*batchv1.Job](t)
	sotto, dir := program(t), t.TempDir()
	const replies, pods = 50, 4
	var lines strings.Builder
	for i := range replies {
		fmt.Fprintf(&lines, `{"id":"%d","raw":"The answer is \\boxed{%d}.","gold":"%d"}`+"\n", i, i, i-i%2)
	}
	if err := os.WriteFile(filepath.Join(dir, "replies.jsonl"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for index := range pods {
		var args []string
		for _, a := range job.Spec.Template.Spec.Containers[0].Args {
			a = strings.NewReplacer(fmt.Sprintf("auto/%d", *job.Spec.Completions), fmt.Sprintf("auto/%d", pods), "s3://replies/scored", "scored", "s3://replies/raw/*", "*.jsonl").Replace(a)
			args = append(args, a)
		}
		if !slices.Contains(args, "scored") || !slices.Contains(args, "*.jsonl") {
			t.Fatalf("the Job has another bucket: %q", args)
		}
		cmd := exec.Command(sotto, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	merge := exec.Command(sotto, "score", "merge", "--json", "scored")
	merge.Dir = dir
	out, err := merge.Output()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf(`"solved":{"count":%d,"of":%d,`, replies/2, replies)) {
		t.Errorf("%v\n%s", err, out)
	}
}
