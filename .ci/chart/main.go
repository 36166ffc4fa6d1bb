// Command chart checks a Helm chart. It lints the chart, renders it with each file of values, and
// decodes the result as objects of the Kubernetes API. An unknown field and a field of the wrong
// type are errors.
//
//	chart CHART VALUES...
package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// serviceMonitor is the part of the Prometheus operator's type that we use.
type serviceMonitor struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		JobLabel  string             `json:"jobLabel"`
		Selector  meta.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Path     string `json:"path"`
			Interval string `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// kinds are the objects that the chart may contain.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                      func() any { return &apps.Deployment{} },
	"autoscaling/v2 HorizontalPodAutoscaler":  func() any { return &autoscaling.HorizontalPodAutoscaler{} },
	"batch/v1 Job":                            func() any { return &batch.Job{} },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &serviceMonitor{} },
	"networking.k8s.io/v1 Ingress":            func() any { return &networking.Ingress{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networking.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":           func() any { return &policy.PodDisruptionBudget{} },
	"v1 PersistentVolumeClaim":                func() any { return &core.PersistentVolumeClaim{} },
	"v1 Service":                              func() any { return &core.Service{} },
	"v1 ServiceAccount":                       func() any { return &core.ServiceAccount{} },
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "chart CHART VALUES...")
		os.Exit(2)
	}
	for _, file := range os.Args[2:] {
		found, err := check(os.Args[1], file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "chart: %s: %v\n", file, err)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stdout, "%s: %s\n", filepath.Base(file), strings.Join(found, ", "))
	}
}

// check returns the objects that a chart renders with a file of values.
func check(folder, file string) (found []string, err error) {
	values, err := chartutil.ReadValuesFile(file)
	if err != nil {
		return nil, err
	}
	for _, m := range lint.All(folder, values, "default", true).Messages {
		if m.Severity >= support.WarningSev {
			err = errors.Join(err, m)
		}
	}
	if err != nil {
		return nil, err
	}
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "release", Namespace: "default", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var services []*core.Service
	var monitors []*serviceMonitor
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		for text := range strings.SplitSeq(rendered[name], "\n---\n") {
			if strings.HasSuffix(name, ".txt") || strings.TrimSpace(text) == "" {
				continue
			}
			var about meta.TypeMeta
			if err := yaml.Unmarshal([]byte(text), &about); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			known, is := kinds[about.APIVersion+" "+about.Kind]
			if !is {
				return nil, fmt.Errorf("%s: %s %s is not one of the objects that the chart may hold", name, about.APIVersion, about.Kind)
			}
			object := known()
			if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			switch o := object.(type) {
			case *apps.Deployment:
				if err := checkProbes(o); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
			case *core.Service:
				services = append(services, o)
			case *serviceMonitor:
				monitors = append(monitors, o)
			}
			found = append(found, about.Kind)
		}
	}
	for _, m := range monitors {
		if err := checkJob(m, services); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// job is the label job of the metrics, by which the alerts of deploy/prometheus find instances.
const job = "tocsin"

// checkJob checks that a monitor selects services, and that the operator takes job from them: it is
// the value of the label that the monitor names, or else the name of the service.
func checkJob(m *serviceMonitor, services []*core.Service) error {
	selector, err := meta.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil {
		return err
	}
	selected := 0
	for _, s := range services {
		if !selector.Matches(labels.Set(s.Labels)) {
			continue
		}
		selected++
		if got := cmp.Or(s.Labels[m.Spec.JobLabel], s.Name); got != job {
			return fmt.Errorf("the job of ServiceMonitor %s is %q and not %q", m.Name, got, job)
		}
	}
	if selected == 0 {
		return fmt.Errorf("the ServiceMonitor %s selects no Service", m.Name)
	}
	return nil
}

// checkProbes checks that probes use https if and only if the server has a certificate.
func checkProbes(d *apps.Deployment) error {
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		want := core.URIScheme("")
		if slices.ContainsFunc(c.Env, func(e core.EnvVar) bool { return e.Name == "TOCSIN_TLS_CERT_FILE" }) {
			want = core.URISchemeHTTPS
		}
		for name, p := range map[string]*core.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
			switch {
			case p == nil || p.HTTPGet == nil:
				return fmt.Errorf("%s has no %s probe", c.Name, name)
			case p.HTTPGet.Scheme != want:
				return fmt.Errorf("the %s probe of %s comes by %q and not by %q", name, c.Name, p.HTTPGet.Scheme, want)
			}
		}
	}
	return nil
}
