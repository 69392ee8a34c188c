package main

import (
	"fmt"
	"slices"
	"strings"
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
	"k8s.io/apimachinery/pkg/util/intstr"
)

// workload is what makes pods.
type workload struct {
	kind, name string
	template   *corev1.PodTemplateSpec
	replicas   *int32
}

func (w workload) String() string { return w.kind + " " + w.name }

type workloadList []workload

func workloads(objects []runtime.Object) workloadList {
	var all workloadList
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			all = append(all, workload{"Deployment", o.Name, &o.Spec.Template, o.Spec.Replicas})
		case *batchv1.Job:
			all = append(all, workload{"Job", o.Name, &o.Spec.Template, nil})
		}
	}
	return all
}

// listen tells whether a container declares a port.
func (l workloadList) listen(port *intstr.IntOrString) bool {
	for _, w := range l {
		for _, c := range w.template.Spec.Containers {
			for _, p := range c.Ports {
				if p.Name == port.StrVal && port.Type == intstr.String || p.ContainerPort == port.IntVal && port.Type == intstr.Int {
					return true
				}
			}
		}
	}
	return false
}

// scalable sees that a scaler has a Deployment, and the number of its pods for itself.
func (l workloadList) scalable(scaler, name string) error {
	i := slices.IndexFunc(l, func(w workload) bool { return w.kind == "Deployment" && w.name == name })
	switch {
	case i < 0:
		return fmt.Errorf("%s scales %s, which is not there", scaler, name)
	case l[i].replicas != nil:
		return fmt.Errorf("%s fixes its replicas, and an autoscaler changes them", l[i])
	}
	return nil
}

// fit finds what is right by itself and wrong together: selectors that select nothing, ports nobody listens at, and
// servers that would refuse to start or be cut off while they drain.
func fit(objects []runtime.Object, insecure bool) []error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	all := workloads(objects)
	selected := func(what string, selector labels.Selector) workloadList {
		var some workloadList
		for _, w := range all {
			if selector.Matches(labels.Set(w.template.Labels)) {
				some = append(some, w)
			}
		}
		if len(some) == 0 {
			bad("%s selects no pod", what)
		}
		return some
	}
	selectedBy := func(what string, selector *metav1.LabelSelector) workloadList {
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			bad("%s: %w", what, err)
			return nil
		}
		return selected(what, s)
	}
	for _, s := range of[*corev1.Service](objects) {
		what := "Service " + s.Name
		some := selected(what, labels.SelectorFromSet(s.Spec.Selector))
		for _, port := range s.Spec.Ports {
			if some != nil && !some.listen(&port.TargetPort) {
				bad("%s: no container listens at %s", what, port.TargetPort.String())
			}
		}
	}
	for _, p := range of[*policyv1.PodDisruptionBudget](objects) {
		selectedBy("PodDisruptionBudget "+p.Name, p.Spec.Selector)
	}
	for _, p := range of[*networkingv1.NetworkPolicy](objects) {
		what := "NetworkPolicy " + p.Name
		some := selectedBy(what, &p.Spec.PodSelector)
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				if some != nil && !some.listen(port.Port) {
					bad("%s: no container listens at %s", what, port.Port.String())
				}
			}
		}
	}
	for _, p := range monitors(objects) {
		some := selectedBy("PodMonitor "+p.name, &p.selector)
		for _, port := range p.ports {
			if some != nil && !some.listen(&port) {
				bad("PodMonitor %s: no container listens at %s", p.name, port.String())
			}
		}
	}
	for _, h := range of[*autoscalingv2.HorizontalPodAutoscaler](objects) {
		if err := all.scalable("HorizontalPodAutoscaler "+h.Name, h.Spec.ScaleTargetRef.Name); err != nil {
			problems = append(problems, err)
		}
	}
	for _, w := range all {
		for _, v := range w.template.Spec.Volumes {
			if v.ConfigMap != nil && !slices.ContainsFunc(of[*corev1.ConfigMap](objects), func(c *corev1.ConfigMap) bool { return c.Name == v.ConfigMap.Name }) {
				bad("%s mounts ConfigMap %s, which is not there", w, v.ConfigMap.Name)
			}
			if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode&0o037 != 0) {
				bad("%s: Secret %s is open to others, and the server refuses such files: set defaultMode to 0440", w, v.Secret.SecretName)
			}
		}
		for _, err := range append(serves(&w.template.Spec, insecure), batches(&w.template.Spec)...) {
			bad("%s: %w", w, err)
		}
	}
	return problems
}

// of are the objects of one kind.
func of[T runtime.Object](objects []runtime.Object) []T {
	var some []T
	for _, o := range objects {
		if t, ok := o.(T); ok {
			some = append(some, t)
		}
	}
	return some
}

// serves checks containers that run psi serve.
func serves(spec *corev1.PodSpec, insecure bool) []error {
	var problems []error
	for _, c := range spec.Containers {
		if len(c.Args) == 0 || c.Args[0] != "serve" {
			continue
		}
		asks := hasFlag(c.Args, "token-file") || hasFlag(c.Args, "client-ca") || hasFlag(c.Args, "oidc-issuer")
		if !asks && !insecure {
			problems = append(problems, fmt.Errorf("container %s serves without authentication", c.Name))
		}
		if hasFlag(c.Args, "insecure") != insecure {
			problems = append(problems, fmt.Errorf("container %s: --insecure is %v, want %v", c.Name, !insecure, insecure))
		}
		problems = append(problems, drains(spec, &c)...)
	}
	return problems
}

// drains sees that a container is given the time that it asks for on its way out.
func drains(spec *corev1.PodSpec, c *corev1.Container) []error {
	drain, err := time.ParseDuration(flagValue(c.Args, "drain"))
	if err != nil {
		return []error{fmt.Errorf("container %s: --drain: %w", c.Name, err)}
	}
	pause := time.Duration(0)
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil {
		pause = time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
	}
	grace := 30 * time.Second // Kubernetes' own
	if spec.TerminationGracePeriodSeconds != nil {
		grace = time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
	}
	if grace <= pause+drain {
		return []error{fmt.Errorf("container %s is killed after %v, before its pause of %v and drain of %v end", c.Name, grace, pause, drain)}
	}
	return nil
}

func hasFlag(args []string, name string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "--"+name || strings.HasPrefix(a, "--"+name+"=") })
}

// flagValue is that of --name=value, or "".
func flagValue(args []string, name string) string {
	for _, a := range args {
		if value, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}
